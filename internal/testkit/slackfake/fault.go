package slackfake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Fault is a wrong answer to some calls of the Web API. The first fault that
// matches wins. A fault that names no kind of answer hangs up.
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
	// Status answers with this HTTP status; 429 with RetryAfter.
	Status int
	// RetryAfter is sent in whole seconds with a 429, which it implies. A 429
	// without it carries no header.
	RetryAfter time.Duration
	// HTML is the body of a Status answer.
	HTML string
	// Delay holds the answer back.
	Delay time.Duration
	// Truncate breaks a JSON answer off in its middle.
	Truncate bool
	// PerformFirst does what was asked and then spoils the answer.
	PerformFirst bool
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

// answer spoils one response; done ends a delay.
func (f *Fault) answer(w http.ResponseWriter, done <-chan struct{}) {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-done:
		}
	}
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
