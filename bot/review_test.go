package bot_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// withForms is a recorder that shows forms.
type withForms struct {
	*recorder
	most  int
	forms []bot.Form
	fails error
}

func (c *withForms) Holds(card bot.Card) bool {
	n := 0
	for _, a := range card.Args {
		n += len(a.Value)
	}
	return n <= c.most
}

func (c *withForms) Review(_ context.Context, _ bot.Event, f bot.Form) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails != nil {
		return c.fails
	}
	c.forms = append(c.forms, f)
	c.touch()
	return nil
}

func formsWorld(t *testing.T) (*world, *withForms) {
	t.Helper()
	forms := &withForms{recorder: newRecorder("formed"), most: 50_000}
	w := idleWorld(t, forms)
	w.chat, w.namespace = forms.recorder, "formed"
	w.start()
	return w, forms
}

func (w *world) form(forms *withForms, n int) bot.Form {
	w.t.Helper()
	var f bot.Form
	w.see("a form", func() bool {
		if len(forms.forms) < n {
			return false
		}
		f = forms.forms[n-1]
		return true
	})
	return f
}

func choice(f bot.Form, label string) string {
	return token(bot.Card{Buttons: [][]bot.Button{f.Choices}}, label)
}

// TestLongCallIsReviewed: what the card cannot show is approved from the form
// alone, which shows all of what the digest stands for.
func TestLongCallIsReviewed(t *testing.T) {
	w, forms := formsWorld(t)
	w.member("formed", "ann", policy.Owner, "main")
	long := strings.Repeat("x", 20_000) + " the end"
	r := w.ask(`{"text":"` + long + `"}`)
	review := w.token("ann", r, bot.LabelReview)
	w.chat.mu.Lock()
	c := w.find("ann", "#1").card
	w.chat.mu.Unlock()
	for _, b := range c.Buttons {
		if strings.HasPrefix(b[0].Label, "Approve") || strings.HasPrefix(b[0].Label, "Always") {
			t.Errorf("the card offers %q", b[0].Label)
		}
	}
	w.tap("ann", review)
	f := w.form(forms, 1)
	if len(f.Card.Args) != 1 || f.Card.Args[0].Value != long || f.Card.Args[0].Cut != 0 {
		t.Errorf("the form shows %d arguments", len(f.Card.Args))
	}
	contains(t, strings.Join(f.Card.Notes, "\n"), "Digest "+w.now(r).ArgsDigest[:8])
	if choice(f, bot.LabelReject) == "" {
		t.Errorf("choices %+v", f.Choices)
	}
	contains(t, w.tap("ann", choice(f, bot.LabelApproveCall)), "Approved once: request #1")
	if now := w.now(r); now.Status != approvals.Approved || now.ArgsDigest != r.ArgsDigest {
		t.Errorf("request %+v", now)
	}
}

// TestRiskyCallIsReviewed: high risk is decided from the form, and a rejection
// takes the reason written beside it.
func TestRiskyCallIsReviewed(t *testing.T) {
	w, forms := formsWorld(t)
	w.member("formed", "ann", policy.Owner, "main")
	w.member("formed", "bob", policy.Owner, "main")
	r := w.askAs("main", "agent:main", `{"n":1}`, &policy.ApprovalSettings{Risk: policy.RiskHigh})
	w.tap("ann", w.token("ann", r, bot.LabelReview))
	reject := choice(w.form(forms, 1), bot.LabelReject)
	send := func(who string) string {
		return w.answerTo(who, func() {
			w.store(bot.Event{Kind: bot.Tap, Identity: who, Direct: true, Token: reject, Text: " too dear "})
		})
	}
	contains(t, send("bob"), "somebody else")
	contains(t, send("ann"), "Rejected: request #1")
	if now := w.now(r); now.Status != approvals.Rejected || now.Reason == nil || *now.Reason != "too dear" {
		t.Errorf("request %+v", now)
	}
	contains(t, w.tap("ann", choice(forms.forms[0], bot.LabelApproveCall)), "already rejected")
}

func TestFormThatDoesNotOpenLeavesAWay(t *testing.T) {
	w, forms := formsWorld(t)
	w.member("formed", "ann", policy.Owner, "main")
	forms.fails = errors.New("expired_trigger_id")
	r := w.askAs("main", "agent:main", `{"n":1}`, &policy.ApprovalSettings{Risk: policy.RiskHigh})
	contains(t, w.tap("ann", w.token("ann", r, bot.LabelReview)), "Tap Review… again", "reject 1 REASON")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
}

// TestCallTooLongForAForm: without another way to see it all, no approval.
func TestCallTooLongForAForm(t *testing.T) {
	w, forms := formsWorld(t)
	w.member("formed", "ann", policy.Owner, "main")
	forms.most = 10
	r := w.ask(`{"text":"` + strings.Repeat("x", 60_000) + `"}`)
	m := w.card("ann", r)
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if token(m.card, bot.LabelReview) != "" || token(m.card, "Approve") != "" {
		t.Errorf("buttons %+v", m.card.Buttons)
	}
}

// TestClosedQuestionEndsTheHold: somebody else's closing ends nothing.
func TestClosedQuestionEndsTheHold(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	w.chat.atOnce = true
	r := w.ask(`{}`)
	w.tap("ann", w.token("ann", r, bot.LabelRejectWhy))
	asked := w.question("ann", 1)
	w.store(bot.Event{Kind: bot.Closed, Identity: "bob", Token: asked.Token})
	contains(t, w.says("bob", "approve 1"), "Ann is writing a reason")
	w.store(bot.Event{Kind: bot.Closed, Identity: "ann", Token: asked.Token})
	w.poll("the end of the hold", func() bool { return w.now(r).Held() == nil })
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
	w.store(bot.Event{Kind: bot.Closed, Identity: "ann", Token: "nonsense"})
	contains(t, w.says("bob", "approve 1"), "Approved once")
}
