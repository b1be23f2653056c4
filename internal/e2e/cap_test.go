package e2e

import "testing"

// TestCapsOfTheSettings: a session and a requester may have as many open
// requests as the settings say.
func TestCapsOfTheSettings(t *testing.T) {
	p := newProcess(t, "HOLM_MAX_OPEN_PER_SESSION=1", "HOLM_MAX_OPEN_PER_REQUESTER=2")
	key, _ := p.setUp("main")
	for n, kinds := range [][2]string{
		{"APPROVAL_REQUIRED", "APPROVAL_CAPPED"},
		{"APPROVAL_REQUIRED", "APPROVAL_CAPPED"},
		{"APPROVAL_CAPPED", "APPROVAL_CAPPED"},
	} {
		session := p.connect(key, "0s")
		for i, kind := range kinds {
			if got := call(t.Context(), session, map[string]any{"n": n*10 + i}); got.Kind != kind {
				t.Errorf("call %d of session %d: %+v, want %s", i+1, n+1, got, kind)
			}
		}
	}
}
