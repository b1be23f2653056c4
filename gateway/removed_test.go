package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

// TestWhatIsRemovedEndsWhatIsHeld: a held call ends, and runs nothing, when its
// server or its agent is gone by the time of the answer; an approval is not spent.
func TestWhatIsRemovedEndsWhatIsHeld(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		r := newRig(t)
		r.rule("record", policy.RequireApproval, policy.Scope{})
		done := later(t.Context(), r.client(map[string]string{"Holm-Hold": "10m"}), "record", map[string]any{"n": 1})
		request := r.asked(approvals.Pending)
		if err := r.servers.Remove(t.Context(), "fix", "test"); err != nil {
			t.Fatal(err)
		}
		r.decide(request, true, policy.Single, "")
		if got := <-done; got.Err == nil && !got.IsError {
			t.Errorf("%+v", got)
		}
		got, err := approvals.Get(t.Context(), r.pool, agentName, request.ID)
		if err != nil || !got.Unclaimed() || len(r.ran()) != 0 {
			t.Errorf("%+v (%v), ran %v", got, err, r.ran())
		}
	})
	t.Run("agent", func(t *testing.T) {
		r := newRig(t)
		r.rule("record", policy.RequireApproval, policy.Scope{})
		done := later(t.Context(), r.client(map[string]string{"Holm-Hold": "10m"}), "record", map[string]any{"n": 1})
		r.asked(approvals.Pending)
		r.tx(func(tx pgx.Tx) error { return identity.RemoveAgent(context.Background(), tx, agentName, "test") })
		if got := <-done; got.Err == nil && !got.IsError || strings.Contains(got.Text, "recorded") || len(r.ran()) != 0 {
			t.Errorf("%+v, ran %v", got, r.ran())
		}
	})
}
