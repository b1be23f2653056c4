package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"holm/internal/fault"
)

// alive tells that the process runs; it asks nobody else.
func (s *server) alive(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, http.StatusOK, "alive", "")
}

// ready tells whether requests can be served now. It is open to all, so of a
// failure that was not written for outsiders it says no more than that.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.Ready == nil {
		writeHealth(w, http.StatusOK, "ready", "")
		return
	}
	err := s.Ready(r.Context())
	if err == nil {
		writeHealth(w, http.StatusOK, "ready", "")
		return
	}
	reason := "a part that is needed does not answer"
	if known, ok := fault.As(err); ok {
		reason = known.Message
	}
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	writeHealth(w, http.StatusServiceUnavailable, "not_ready", reason)
}

func writeHealth(w http.ResponseWriter, code int, status, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitempty"`
	}{status, reason})
}
