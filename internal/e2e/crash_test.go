package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKillBetweenRequestAndTap kills holm while a card is open; the tap comes
// while it is down.
func TestKillBetweenRequestAndTap(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newEmbedded(t, env...)
	telegram.WaitPoll()
	key, seen := p.setUp("main")
	args := map[string]any{"n": 1}
	if got := call(t.Context(), p.connect(key, "0s"), args); got.Kind != "APPROVAL_REQUIRED" {
		t.Fatalf("got %+v", got)
	}
	card := telegram.WaitMessage(ownerID, open)

	p.kill()
	tap := owner.Click(card, "Approve this call")
	p.start()
	telegram.WaitAnswer(tap)

	session := p.connect(key, "30s")
	for range 2 {
		if got := call(t.Context(), session, args); got.Err != nil || got.Failed {
			t.Fatalf("got %+v", got)
		}
	}
	if diff := cmp.Diff([]string{`{"n":1}`}, seen()); diff != "" {
		t.Error(diff)
	}
	telegram.WaitMessage(ownerID, shows("succeeded"))
	telegram.Settle()
}

// TestKillBetweenTapAndExecution kills holm after the decision, before any
// call has claimed it.
func TestKillBetweenTapAndExecution(t *testing.T) {
	telegram, owner, env := withTelegram(t)
	p := newEmbedded(t, env...)
	telegram.WaitPoll()
	key, seen := p.setUp("main")
	args := map[string]any{"n": 1}
	call(t.Context(), p.connect(key, "0s"), args)
	telegram.WaitAnswer(owner.Click(telegram.WaitMessage(ownerID, open), "Approve this call"))
	p.kill()
	p.start()

	session := p.connect(key, "30s")
	for range 2 {
		if got := call(t.Context(), session, args); got.Err != nil || got.Failed {
			t.Fatalf("got %+v", got)
		}
	}
	if diff := cmp.Diff([]string{`{"n":1}`}, seen()); diff != "" {
		t.Error(diff)
	}
	telegram.WaitMessage(ownerID, shows("succeeded"))
	telegram.Settle()
}
