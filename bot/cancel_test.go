package bot_test

import (
	"strings"
	"testing"

	"holm/approvals"
	"holm/policy"
)

func TestARequesterCancelsTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	gus := w.member("chat", "gus", policy.User, "main")
	foreign, own := w.ask(`{"n":1}`), w.askAs("main", gus, `{"n":2}`, nil)
	w.card("ann", own)
	for line, reply := range map[string]string{
		"cancel":        "Which one?",
		"cancel x":      "not the number",
		"cancel 1":      "no request #1",
		"cancel main#1": "no request #1",
		"cancel 99":     "no request #99",
		"help":          "cancel N",
	} {
		contains(t, w.says("gus", line), reply)
	}
	contains(t, w.says("stranger", "cancel 2"), "private")
	contains(t, w.says("gus", "cancel #2 by mistake"), "Cancelled: request #2.")
	contains(t, w.says("gus", "cancel 2"), "Cancelled: request #2.") // sent again
	w.see("the closed card", func() bool {
		m := w.find("ann", "🚫 Cancelled · #2")
		return m != nil && len(m.card.Buttons) == 0 && strings.Contains(strings.Join(m.card.Notes, "\n"), "Cancelled by Gus (chat)")
	})
	if now := w.now(foreign); now.Status != approvals.Pending {
		t.Errorf("the request of somebody else is %s", now.Status)
	}
	if now := w.now(own); value(now.Reason) != "by mistake" {
		t.Errorf("reason %q", value(now.Reason))
	}
}

func TestAnOwnerCancelsAny(t *testing.T) {
	w := newWorld(t)
	ann := w.owner("ann")
	gus := w.member("chat", "gus", policy.User, "main")
	w.askAs("main", gus, `{"n":1}`, nil)
	done := w.askAs("main", gus, `{"n":2}`, nil)
	w.decide(done, ann, true)
	contains(t, w.says("ann", "cancel 1"), "Cancelled: request #1.")
	w.see("the news at the requester", func() bool {
		for _, m := range w.chat.messages {
			if m.to.Identity == "gus" && strings.Contains(m.card.Head, "#1") && strings.Contains(m.card.Head, "cancelled by Ann") {
				return true
			}
		}
		return false
	})
	contains(t, w.says("ann", "cancel 2"), "already approved, this call only, by Ann")
}
