package slackfake

import (
	"context"
	"math/rand/v2"
	"time"
)

// notify wakes everybody who waits; the caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// after runs f with mu held when d has passed, unless the server was closed.
// The caller holds mu.
func (s *Server) after(d time.Duration, f func()) {
	if s.closed {
		return
	}
	s.work.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		defer s.work.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.timers, timer)
		if !s.closed {
			f()
		}
	})
	s.timers[timer] = struct{}{}
}

// patience is how long a test waits for something before it has failed.
const patience = 60 * time.Second

// await blocks until cond holds, which is asked with mu held, and fails the
// test when it never does.
func (s *Server) await(what string, cond func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.t.Fatalf("slackfake: waited %s for %s", patience, what)
			return
		}
	}
}

// next numbers what must be unique; the caller holds mu.
func (s *Server) next() int {
	s.serial++
	return s.serial
}

func hexID(digits int) string {
	b := make([]byte, digits)
	for i := range b {
		b[i] = "0123456789abcdef"[rand.IntN(16)]
	}
	return string(b)
}
