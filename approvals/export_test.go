package approvals

import "time"

// LookLater makes what the service has seen of dead processes older by d.
func (s *Service) LookLater(d time.Duration) {
	s.deaths.mu.Lock()
	defer s.deaths.mu.Unlock()
	for process, since := range s.deaths.since {
		s.deaths.since[process] = since.Add(-d)
	}
}
