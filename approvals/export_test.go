package approvals

import "time"

// Impatient makes the service take a process for dead at its second look.
func (s *Service) Impatient() { s.deaths.After = time.Nanosecond }

var IDAt = idAt
