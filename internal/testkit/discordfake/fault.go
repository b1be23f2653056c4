package discordfake

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Fault is a wrong answer to some calls. The first fault that matches wins.
type Fault struct {
	// Method and Path choose calls: the method and a part of the path; empty for
	// all.
	Method, Path string
	// Times is how many are spoiled: 1 by default, all when negative.
	Times int
	// Status and Code answer with this HTTP status and error code; without a code
	// the body is a page of a proxy.
	Status, Code int
	// RetryAfter answers 429; Global says that it holds for all routes.
	RetryAfter time.Duration
	Global     bool
	// PerformFirst does what was asked and then spoils the answer: by hanging up
	// when nothing else is said.
	PerformFirst bool
}

// Inject adds a fault.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = cmp.Or(f.Times, 1)
	s.faults = append(s.faults, &f)
}

func (s *Server) meet(r request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times == 0 || f.Method != "" && f.Method != r.Method || !strings.Contains(r.URL.Path, f.Path) {
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

func (f *Fault) spoil(w http.ResponseWriter) {
	switch {
	case f.RetryAfter > 0:
		after := f.RetryAfter.Seconds()
		w.Header().Set("Retry-After", fmt.Sprint(int(after)+1))
		if f.Global {
			w.Header().Set("X-RateLimit-Global", "true")
		}
		write(w, http.StatusTooManyRequests, map[string]any{"message": "You are being rate limited.", "retry_after": after, "global": f.Global})
	case f.Code != 0:
		write(w, f.Status, map[string]any{"code": f.Code, "message": "on order"})
	case f.Status != 0:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte("<html>error code: 1015</html>"))
	default:
		panic(http.ErrAbortHandler)
	}
}
