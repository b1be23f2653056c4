package slackfake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Fault is a wrong or late answer to some calls of the Web API. The first
// fault that matches wins.
type Fault struct {
	// Method is the method's name; empty for all.
	Method string
	// Match looks at the parameters; nil matches all.
	Match func(params map[string]string) bool
	// After is how many matching calls pass first, Times how many are then
	// spoiled: 1 by default, all when negative.
	After, Times int
	// Code answers 200 with "ok": false and this error.
	Code string
	// Status answers with this HTTP status and HTML as its body.
	Status int
	HTML   string
	// RetryAfter answers 429 with that header, in whole seconds.
	RetryAfter time.Duration
	// Truncate breaks a JSON answer off in its middle.
	Truncate bool
	// Drop hangs up without an answer.
	Drop bool
	// Delay holds the answer back; alone it delays the right answer.
	Delay time.Duration
	// PerformFirst does what was asked and then spoils the answer, by Drop when
	// nothing else is said.
	PerformFirst bool
}

// onlyLate is true for a fault that leaves the answer as it is.
func (f *Fault) onlyLate() bool {
	return f.Code == "" && f.Status == 0 && f.RetryAfter == 0 && !f.Truncate && !f.Drop && !f.PerformFirst
}

// Inject adds a fault.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = cmp.Or(f.Times, 1)
	s.faults = append(s.faults, &f)
}

// matchFault counts a call and returns the fault it meets.
func (s *Server) matchFault(method string, params map[string]string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times == 0 || (f.Method != "" && f.Method != method) || (f.Match != nil && !f.Match(params)) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		met := *f
		return &met
	}
	return nil
}

// wait is the fault's delay, which done ends.
func (f *Fault) wait(done <-chan struct{}) {
	if f.Delay <= 0 {
		return
	}
	timer := time.NewTimer(f.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}

// spoil writes the wrong answer.
func (f *Fault) spoil(w http.ResponseWriter) {
	switch {
	case f.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(answer{"ok": false, "error": "ratelimited"})
	case f.Status != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.HTML))
	case f.Code != "":
		write(w, answer{"ok": false, "error": f.Code})
	case f.Truncate:
		_, _ = w.Write([]byte(`{"ok": true, "chan`))
	default:
		panic(http.ErrAbortHandler)
	}
}
