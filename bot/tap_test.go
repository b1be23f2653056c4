package bot_test

import (
	"testing"

	"holm/approvals"
	"holm/bot"
)

func TestTapApprovesAndClosesEveryCopyOfTheCard(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	r := w.ask(`{"title":"hello"}`)
	w.card("bob", r)

	contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveCall)), "Approved once")

	if now := w.now(r); now.Status != approvals.Approved || *now.ResolvedVia != "chat" || *now.ResolvedName != "Ann" {
		t.Errorf("request is %+v", now)
	}
	for _, who := range []string{"ann", "bob"} {
		w.see("the closed card at "+who, func() bool {
			m := w.find(who, "✅ Approved · #1")
			return m != nil && len(m.card.Buttons) == 0
		})
	}
}
