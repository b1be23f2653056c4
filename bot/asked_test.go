package bot_test

import (
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/session"
	"holm/policy"
)

// askIn puts the question of ask from another session.
func (w *world) askIn(sessionID, args string) approvals.Request {
	w.t.Helper()
	r, err := w.svc.Ask(w.ctx, approvals.Call{
		Session:       session.Session{ID: sessionID, AgentID: "main", Kind: session.API, RequesterID: "agent:main"},
		RequesterName: "requester of main", ResourceType: "tool", ResourceKey: "github__create_issue",
		Args: must(policy.ParseArgs([]byte(args))),
		Rule: policy.Row{ID: "rule", AgentID: "main", ResourceType: "tool", ResourceKey: "github__*", Version: 1, Effect: policy.RequireApproval},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// The card says how often the call was asked for, as long as somebody may
// answer, and one tap is for all.
func TestACardCountsTheAsks(t *testing.T) {
	w := newWorld(t)
	ann := w.owner("ann")
	w.ask(`{}`)
	shows := func(what, text string) {
		t.Helper()
		w.see(what, func() bool {
			m := w.find("ann", "#1")
			if m == nil {
				return false
			}
			for _, f := range m.card.Facts {
				if f.Label == "Asked" {
					return f.Value == text && strings.Contains(strings.Join(m.card.Notes, "\n"), "it runs once")
				}
			}
			return text == ""
		})
	}
	shows("the card", "")
	second := w.askIn("s2", `{}`)
	shows("two asks", "2 times")
	w.askIn("s3", `{}`)
	shows("three asks", "3 times")
	must(w.svc.Cancel(w.ctx, approvals.Cancellation{AgentID: "main", RequestID: second.ID, Actor: approvals.Actor{UserID: ann, Name: "Ann", Via: "api"}}))
	shows("two asks again", "2 times")
	if list := w.says("ann", "pending"); strings.Count(list, "github__create_issue") != 1 || !strings.Contains(list, "asked 2 times") {
		t.Errorf("pending lists %q", list)
	}
	contains(t, w.says("ann", "approve 3"), "Approved once: request #1")
	w.see("the closed card", func() bool {
		m := w.find("ann", "✅ Approved · #1")
		return m != nil && len(m.card.Buttons) == 0
	})
	w.settled()
	cards := 0
	for _, m := range w.chat.messages {
		if len(m.card.Facts) > 0 {
			cards++
		}
	}
	if cards != 1 {
		t.Errorf("%d cards, want one", cards)
	}
}
