package bot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// filesWorld is a world with ann as owner on a channel that sends files.
func filesWorld(t *testing.T) (*world, withFiles) {
	t.Helper()
	filed := withFiles{newRecorder("filed")}
	w := idleWorld(t, filed)
	w.chat, w.namespace = filed.recorder, "filed"
	w.member("filed", "ann", policy.Owner, "main")
	w.start()
	return w, filed
}

// TestApprovingComesAfterTheArguments: a card that does not show all of them has no
// button that approves, none that was made for it decides, and Details brings them
// and then the buttons.
func TestApprovingComesAfterTheArguments(t *testing.T) {
	for name, settings := range map[string]*policy.ApprovalSettings{
		"plain": nil, "high risk": {Risk: policy.RiskHigh}, "with a reason": {RequireReason: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, filed := filesWorld(t)
			r := w.askAs("main", "agent:main", `{"body":"`+strings.Repeat("x", 100_000)+`","last":"y"}`, settings)
			details := w.token("ann", r, bot.LabelDetails)
			approves := func() bool {
				m := w.find("ann", "#1")
				return slices.ContainsFunc(slices.Concat(m.card.Buttons...), func(b bot.Button) bool { return b.Approves })
			}
			w.see("no button that approves", func() bool { return !approves() })
			early := w.button(r, approvals.ApproveCall)
			contains(t, w.tap("ann", early), "Nothing was decided", "not been shown all arguments of request #1")
			if now := w.now(r); now.Status != approvals.Pending || now.Held() != nil {
				t.Fatalf("the request is %s, held %v", now.Status, now.Held())
			}
			contains(t, w.tap("ann", details), "come as a message")
			if len(filed.files) != 1 || !strings.Contains(filed.files[0].data, strings.Repeat("x", 100_000)) {
				t.Fatalf("%d files", len(filed.files))
			}
			w.see("the buttons that approve", approves)
			if name == "with a reason" {
				contains(t, w.tap("ann", early), "reason")
				return
			}
			contains(t, w.tap("ann", early), "Approved once")
		})
	}
}

// TestAListApprovesNothingUnseen: a button of a list about requests that no review
// could show in full decides nothing, whoever made it.
func TestAListApprovesNothingUnseen(t *testing.T) {
	w := listWorld(t)
	first := w.ask(`{"title":"first"}`)
	w.start()
	w.card("ann", first)
	var asked []approvals.Request
	for n := range 2 {
		asked = append(asked, w.ask(fmt.Sprintf(`{"body":"%s%d"}`, strings.Repeat("x", 5000), n)))
	}
	w.gathered()
	w.endWindows()
	w.digest(0, "2 requests wait")
	var id string
	w.poll("the note of the list", func() bool {
		return w.pool.QueryRow(w.ctx, `SELECT id FROM card_digests WHERE state = 'sent'`).Scan(&id) == nil
	})
	g, _, err := approvals.ReadDigest(w.ctx, w.pool, id)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, w.tap("ann", approvals.DigestToken(w.keeper, g, approvals.ApproveThese, g.Listed...)), "Nothing was changed", "do not fit here")
	for _, r := range asked {
		if now := w.now(r); now.Status != approvals.Pending {
			t.Errorf("request #%d is %s", r.ShortID, now.Status)
		}
	}
	contains(t, w.tap("ann", approvals.DigestToken(w.keeper, g, approvals.RejectThese, g.Listed...)), "Rejected: #2, #3")
}
