package httpapi

import (
	"fmt"
	"net/http"
)

// routed answers in mux's place where it has no call, as every other failure
// is answered: 404, or 405 with the methods there are.
func routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refusal, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &statusProbe{header: http.Header{}, status: http.StatusNotFound}
		refusal.ServeHTTP(probe, r)
		if allow := probe.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			writeProblem(w, newProblem(probe.status, fmt.Sprintf("the method %s is not offered here", r.Method)))
			return
		}
		writeProblem(w, newProblem(http.StatusNotFound, "there is no such call"))
	})
}

// statusProbe learns what mux would have answered.
type statusProbe struct {
	header http.Header
	status int
}

func (p *statusProbe) Header() http.Header         { return p.header }
func (p *statusProbe) WriteHeader(status int)      { p.status = status }
func (p *statusProbe) Write(b []byte) (int, error) { return len(b), nil }
