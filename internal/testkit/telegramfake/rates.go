package telegramfake

import (
	"strconv"
	"time"
)

// rateLimiter remembers when messages were sent, by chat and, under 0, to all.
type rateLimiter struct{ sent map[int64][]time.Time }

// takeLocked counts a message to chat, or refuses it with the seconds to wait.
func (s *Server) takeLocked(c *chat) error {
	if !s.opts.RateLimits {
		return nil
	}
	now := s.opts.Clock()
	limits := []struct {
		key   int64
		most  int
		every time.Duration
	}{{c.id, 1, time.Second}, {0, 30, time.Second}}
	if c.kind != "private" {
		limits[0].most, limits[0].every = 20, time.Minute
	}
	for _, l := range limits {
		if wait := s.limiter.wait(l.key, l.most, l.every, now); wait > 0 {
			seconds := int((wait + time.Second - 1) / time.Second)
			return &apiError{code: 429, text: "Too Many Requests: retry after " + strconv.Itoa(seconds), retryAfter: seconds}
		}
	}
	for _, l := range limits {
		s.limiter.sent[l.key] = append(s.limiter.sent[l.key], now)
	}
	return nil
}

func (r *rateLimiter) wait(key int64, most int, every time.Duration, now time.Time) time.Duration {
	recent := r.sent[key][:0]
	for _, at := range r.sent[key] {
		if now.Sub(at) < every {
			recent = append(recent, at)
		}
	}
	r.sent[key] = recent
	if len(recent) < most {
		return 0
	}
	return every - now.Sub(recent[len(recent)-most])
}
