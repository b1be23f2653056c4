package discordfake

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// window is what a route has left, and until when.
type window struct {
	left  int
	until time.Time
}

// Limit allows each route so many calls in a window, and says so in the headers
// of every answer. Answers to interactions are not limited.
func (s *Server) Limit(calls int, every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota, s.window = calls, every
}

// Limited is how many calls were answered with 429 because of Limit.
func (s *Server) Limited() int { return s.count(&s.limited) }

// counted takes a call off its route and writes the headers; a time to wait means
// that none was left. The caller holds mu.
func (s *Server) counted(w http.ResponseWriter, r request) time.Duration {
	if s.quota == 0 || strings.Contains(r.URL.Path, "/interactions/") || strings.Contains(r.URL.Path, "/webhooks/") {
		return 0
	}
	route := r.Method + " " + strings.TrimSuffix(r.URL.Path, "/"+r.PathValue("m"))
	now := time.Now()
	one, ok := s.windows[route]
	if !ok || !now.Before(one.until) {
		one = &window{left: s.quota, until: now.Add(s.window)}
		s.windows[route] = one
	}
	if one.left == 0 {
		return one.until.Sub(now)
	}
	one.left--
	w.Header().Set("X-RateLimit-Limit", fmt.Sprint(s.quota))
	w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(one.left))
	w.Header().Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", one.until.Sub(now).Seconds()))
	return 0
}
