package e2e

import (
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/internal/db/dbtest"
)

// newReplicas starts two processes on one database.
func newReplicas(t *testing.T, env ...string) (a, b *process) {
	t.Helper()
	env = append(env, "HOLM_DATABASE_URL="+dbtest.URL(t), "HOLM_ADMIN_TOKEN=the-operator-of-both-replicas",
		"HOLM_SECRET_KEY=a-secret-that-both-replicas-share")
	a = startIn(t, append([]string{}, env...))
	return a, startIn(t, append([]string{}, env...))
}

// TestReplicas: what is asked on one process is answered through the other, and
// runs once wherever it is asked for again.
func TestReplicas(t *testing.T) {
	a, b := newReplicas(t)
	key, seen := a.setUp("main")

	held := later(t.Context(), a.connect(key, "60s"), map[string]any{"n": 1})
	b.decide("approve", "1", "--single")
	if got := a.within(held); got.Text != "recorded" {
		t.Errorf("held on one, approved through the other: %+v", got)
	}

	onA, onB := a.connect(key, "0s"), b.connectAs("", key, "0s")
	if got := call(t.Context(), onA, map[string]any{"n": 2}); got.Kind != "APPROVAL_REQUIRED" {
		t.Fatalf("got %+v", got)
	}
	b.decide("approve", "2", "--single")
	for name, session := range map[string]*mcp.ClientSession{"b": onB, "a": onA} {
		if got := call(t.Context(), session, map[string]any{"n": 2}); got.Text != "recorded" {
			t.Errorf("retry on %s: %+v", name, got)
		}
	}
	if ran := seen(); len(ran) != 2 {
		t.Errorf("ran %v, want each once", ran)
	}

	// A rule that one process takes back is in force on the other.
	a.holm("revoke", "main", "fix", "--tool", "record")
	b.eventually(func() error {
		got := call(t.Context(), onB, map[string]any{"n": 3})
		var wire *jsonrpc.Error
		if !errors.As(got.Err, &wire) || wire.Code != -32602 {
			return errors.New("still callable: " + got.Text)
		}
		return nil
	})
}

// TestKilledReplica: the process that talks to Telegram and holds the call is
// killed; the other takes over, and the tap that comes in between counts.
func TestKilledReplica(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	a, b := newReplicas(t, env...)
	telegram.WaitPoll()
	key, seen := a.setUp("main")
	held := later(t.Context(), a.connect(key, "60s"), map[string]any{"n": 1})
	card := telegram.WaitMessage(ownerID, open)

	a.kill()
	if got := a.within(held); got.Err == nil {
		t.Errorf("the call on the process that was killed: %+v", got)
	}
	tap := owner.Click(card, "Approve this call")
	if answer := telegram.WaitAnswer(tap); answer.Text == "" {
		t.Error("the tap got no text")
	}
	for range 2 {
		if got := call(t.Context(), b.connect(key, "30s"), map[string]any{"n": 1}); got.Text != "recorded" {
			t.Errorf("retry: %+v", got)
		}
	}
	if ran := seen(); len(ran) != 1 {
		t.Errorf("ran %v, want once", ran)
	}
	telegram.WaitMessage(ownerID, shows("succeeded"))
	telegram.Settle()
}
