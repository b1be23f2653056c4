package telegramfake

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Fault is a way for calls to go wrong. The first one that matches a call wins.
// Without Code, HTML, Drop and Truncate the call only takes longer.
type Fault struct {
	// Method that is met, in the documented spelling; empty meets all.
	Method string
	// Match looks at the parameters; nil meets all.
	Match func(params map[string]string) bool
	// After lets that many matching calls pass first.
	After int
	// Times is how many calls are met: 0 means one, negative means all.
	Times int
	// Code and Description are answered, e.g. 400 and "Bad Request: ...".
	Code        int
	Description string
	// RetryAfter is in seconds and goes with Code 429; MigrateTo with 400.
	RetryAfter int
	MigrateTo  int64
	// HTML answers the page of a broken proxy, with status Code or 502.
	HTML bool
	// Drop cuts the connection without an answer, Truncate in its middle.
	Drop, Truncate bool
	// PerformFirst does what was asked and then loses the answer: the call that
	// makes clients post twice.
	PerformFirst bool
	// Delay holds the answer back, Hold does so until it is closed.
	Delay time.Duration
	Hold  <-chan struct{}
}

// Injected is a fault in place.
type Injected struct {
	Fault
	server       *Server
	passed, hits int
	lifted       bool
}

// Inject puts a fault in place. The test fails if no call ever meets it.
func (s *Server) Inject(f Fault) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = cmp.Or(f.Times, 1)
	in := &Injected{Fault: f, server: s}
	s.faults = append(s.faults, in)
	return in
}

// Lift ends the fault.
func (f *Injected) Lift() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.lifted = true
}

// LiftAll ends all faults.
func (s *Server) LiftAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		f.lifted = true
	}
}

// Wait blocks until the fault has met n calls in all.
func (f *Injected) Wait(n int) {
	f.server.t.Helper()
	f.server.wait("a fault to be met", func() bool { return f.hits >= n })
}

func (s *Server) meetFault(c *request) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if !f.meets(c) {
			continue
		}
		if f.passed < f.After {
			f.passed++
			continue
		}
		f.hits++
		s.touchLocked()
		return f
	}
	return nil
}

func (f *Injected) meets(c *request) bool {
	spent := f.Times > 0 && f.hits >= f.Times
	if f.lifted || spent || (f.Method != "" && f.Method != c.method) {
		return false
	}
	return f.Match == nil || f.Match(c.values)
}

// harmless reports a fault that only takes time.
func (f *Fault) harmless() bool {
	return f.Code == 0 && !f.HTML && !f.Drop && !f.Truncate
}

func (f *Fault) code() int {
	if f.Drop || f.Truncate {
		return 0
	}
	return cmp.Or(f.Code, http.StatusBadGateway)
}

// delay reports whether somebody still waits for the answer afterwards.
func (f *Fault) delay(ctx context.Context, closed <-chan struct{}) bool {
	var late <-chan time.Time
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		late = timer.C
	}
	for _, gate := range []func() bool{
		func() bool { return f.Delay == 0 || received(ctx, closed, late) },
		func() bool { return f.Hold == nil || received(ctx, closed, f.Hold) },
	} {
		if !gate() {
			return false
		}
	}
	return true
}

func received[T any](ctx context.Context, closed <-chan struct{}, signal <-chan T) bool {
	select {
	case <-signal:
		return true
	case <-ctx.Done():
	case <-closed:
	}
	return false
}

// answer writes the wrong answer.
func (f *Fault) answer(w http.ResponseWriter, result any) {
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Truncate:
		f.truncate(w, result)
	case f.HTML:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.code())
		_, _ = w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n"))
	default:
		writeAnswer(w, nil, &apiError{code: f.Code, text: f.Description, retryAfter: f.RetryAfter, migrateTo: f.MigrateTo})
	}
}

func (f *Fault) truncate(w http.ResponseWriter, result any) {
	full, _ := json.Marshal(map[string]any{"ok": true, "result": result})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(full[:len(full)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
