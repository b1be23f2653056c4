package bot_test

import (
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// TestAlwaysIsConfirmedOnce: it is not beside the approval of one call, the card says
// what it opens before it is pressed, and no button of before decides without that.
func TestAlwaysIsConfirmedOnce(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{"title":"hello"}`)
	more := w.token("ann", r, bot.LabelMore)
	if labels := strings.Join(labelsOf(w.card("ann", r).card), ", "); strings.Contains(labels, "lways") {
		t.Fatalf("the card offers %s", labels)
	}
	old := w.sign("ann", r, approvals.AlwaysTool, more)
	contains(t, w.tap("ann", old), "Nothing was decided", "asks once more")
	w.token("ann", r, bot.LabelYesAlways)
	w.tap("ann", w.token("ann", r, bot.LabelBack))
	w.tap("ann", w.token("ann", r, bot.LabelMore))
	w.tap("ann", w.token("ann", r, bot.LabelAlwaysArguments))
	yes := w.token("ann", r, bot.LabelYesAlways)
	contains(t, strings.Join(w.card("ann", r).card.Notes, "\n"), "every further call of github__create_issue", "with exactly these arguments", "without a question")
	contains(t, w.tap("ann", old), "Nothing was decided") // another extent than the one confirmed
	w.tap("ann", w.sign("ann", r, approvals.ChooseArguments, more))
	if now := w.now(r); now.Status != approvals.Pending {
		t.Fatalf("request is %s", now.Status)
	}
	w.poll("the confirmation", func() bool {
		return strings.Contains(w.tap("ann", yes), "Always allowed with these arguments")
	})
	if now := w.now(r); now.Status != approvals.Approved || *now.Extent != approvals.TheseArguments {
		t.Errorf("request is %s", now.Status)
	}
}

// TestHighRiskIsOneCall unless the rule says otherwise, on every surface.
func TestHighRiskIsOneCall(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	one := w.askAs("main", "agent:main", `{"n":1}`, &policy.ApprovalSettings{Risk: policy.RiskHigh})
	labels := strings.Join(labelsOf(w.card("ann", one).card), ", ")
	if strings.Contains(labels, "Approve for") || strings.Contains(labels, bot.LabelMore) || !strings.Contains(labels, bot.LabelApproveCall) {
		t.Errorf("the card offers %s", labels)
	}
	contains(t, w.says("ann", "approve 1 hour"), "does not offer")
	said := w.askAs("main", "agent:main", `{"n":2}`, &policy.ApprovalSettings{
		Risk: policy.RiskHigh, Resolutions: []policy.Resolution{policy.Single, policy.Once},
	})
	if labels := strings.Join(labelsOf(w.card("ann", said).card), ", "); !strings.Contains(labels, "Approve for 60 min") {
		t.Errorf("the card offers %s", labels)
	}
}
