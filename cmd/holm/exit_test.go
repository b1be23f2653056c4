package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"holm/internal/client"
)

// TestExitCodes: what a server answers ends with the exit code that
// docs/settings.md tells, whatever the command.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   int
	}{
		{http.StatusBadRequest, "bad_json", exitUsage},
		{http.StatusUnauthorized, "unauthenticated", exitFailed},
		{http.StatusUnauthorized, "throttled", exitFailed},
		{http.StatusForbidden, "forbidden", exitFailed},
		{http.StatusForbidden, "access_denied", exitDenied},
		{http.StatusForbidden, "approval_rejected", exitDenied},
		{http.StatusNotFound, "not_found", exitNotFound},
		{http.StatusConflict, "already_decided", exitFailed},
		{http.StatusConflict, "approval_required", exitPending},
		{http.StatusGone, "expired", exitFailed},
		{http.StatusGone, "approval_expired", exitDenied},
		{http.StatusRequestEntityTooLarge, "too_large", exitFailed},
		{http.StatusUnprocessableEntity, "invalid", exitUsage},
		{http.StatusUnprocessableEntity, "invalid_policy", exitUsage},
		{http.StatusUnprocessableEntity, "resolution_not_offered", exitFailed},
		{http.StatusUnprocessableEntity, "reason_required", exitFailed},
		{http.StatusTooManyRequests, "capped", exitFailed},
		{http.StatusInternalServerError, "internal", exitFailed},
		{http.StatusServiceUnavailable, "unavailable", exitFailed},
		{http.StatusNotFound, "", exitFailed}, // an answer of another program is no word of ours
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_ = json.NewEncoder(w).Encode(client.Problem{Status: c.status, Code: c.code, Detail: "what is wrong"})
		}))
		t.Setenv("HOLM_URL", server.URL)
		t.Setenv("HOLM_ADMIN_TOKEN", scriptedToken)
		for _, args := range [][]string{{"list", "agents"}, {"grant", "a", "s"}, {"approvals", "approve", "1", "--agent", "a"}} {
			if got := runHolm(t, args...); got.code != c.want || got.out != "" || !contains(got.err, "holm: ") {
				t.Errorf("%d %s: holm %v: %+v, want code %d", c.status, c.code, args, got, c.want)
			}
		}
		server.Close()
		if got := runHolm(t, "list", "agents"); got.code != exitFailed || !contains(got.err, "is holm serve running there?") {
			t.Errorf("with no server: %+v", got)
		}
	}
}
