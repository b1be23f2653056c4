package bot_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// formsList is a channel that lists requests and shows forms.
type formsList struct{ *withForms }

func (formsList) MaxListed() int { return 20 }

func formsListWorld(t *testing.T) (*world, *withForms) {
	t.Helper()
	forms := &withForms{recorder: newRecorder("listed"), most: 50_000}
	w := idleWorld(t, formsList{forms})
	w.chat, w.namespace = forms.recorder, "listed"
	w.member("listed", "ann", policy.Owner, "main")
	return w, forms
}

// tapForm is what ann's sending of a form is answered.
func (w *world) tapForm(who, token, reason string) string {
	w.t.Helper()
	return w.answerTo(who, func() {
		w.store(bot.Event{Kind: bot.Tap, Identity: who, Name: who, Direct: true, Token: token, Text: reason})
	})
}

// TestAListIsReviewedInAForm: the list stays a list, the form shows what is the
// same and what differs, and a reason reaches all that are rejected.
func TestAListIsReviewedInAForm(t *testing.T) {
	w, forms := formsListWorld(t)
	listed := w.issues("one", "two")
	_, card := w.digest(0, "2 requests wait")
	w.tap("ann", token(card, bot.LabelReviewAll))
	f := w.form(forms, 1)
	contains(t, dump(f.Card), "- all · repo: holm\n", fmt.Sprintf("- #%d · title: one\n", listed[0].ShortID),
		fmt.Sprintf("- #%d · title: two\n", listed[1].ShortID), "is left out")
	if f.Title != "Review 2 requests" || len(f.Card.Buttons) > 0 || len(f.Choices) != 2 || f.NeedsReason {
		t.Errorf("form %+v", f)
	}
	reject := choice(f, bot.LabelRejectThese)
	contains(t, w.tapForm("bob", reject, "mine now"), "belongs to somebody else")
	want := fmt.Sprintf("Rejected: #%d, #%d.", listed[0].ShortID, listed[1].ShortID)
	contains(t, w.tapForm("ann", reject, " not this week "), want)
	contains(t, w.tapForm("ann", reject, "sent again"), want)
	for _, r := range listed {
		now := w.now(r)
		if now.Status != approvals.Rejected || now.Version != 2 || now.Reason == nil || *now.Reason != "not this week" {
			t.Errorf("#%d is %s, version %d, reason %v", now.ShortID, now.Status, now.Version, now.Reason)
		}
	}
	_, card = w.digest(0, "None of these 2 requests waits any more")
	contains(t, dump(card), "reason: “not this week”")
}

// TestAFormThatIsSentLate: what others decided since it was opened is left out.
func TestAFormThatIsSentLate(t *testing.T) {
	w, forms := formsListWorld(t)
	bob := w.owner("bob")
	listed := w.issues("one", "two", "three")
	_, card := w.digest(0, "3 requests wait")
	w.tap("ann", token(card, bot.LabelReviewAll))
	approve := choice(w.form(forms, 1), bot.LabelApproveThese)
	w.decide(listed[1], bob, false)
	contains(t, w.tapForm("ann", approve, ""), fmt.Sprintf("Approved once: 2. Left out: #%d (already rejected).", listed[1].ShortID))
	for i, status := range []approvals.Status{approvals.Approved, approvals.Rejected, approvals.Approved} {
		if now := w.now(listed[i]); now.Status != status || now.Version != 2 {
			t.Errorf("#%d is %s, version %d", now.ShortID, now.Status, now.Version)
		}
	}
	contains(t, w.tap("ann", token(card, bot.LabelReviewAll)), "None of these requests waits any more.")
	w.exec(`DELETE FROM agent_members`)
	contains(t, w.tapForm("ann", approve, ""), "Nothing was changed. Left out:")
}

// TestAFormOfSeveralThatDoesNotOpen: the tap was too old, and the review takes
// the place of the list.
func TestAFormOfSeveralThatDoesNotOpen(t *testing.T) {
	w, forms := formsListWorld(t)
	forms.fails = errors.New("expired_trigger_id")
	w.issues("one", "two")
	_, card := w.digest(0, "2 requests wait")
	w.tap("ann", token(card, bot.LabelReviewAll))
	_, card = w.digest(0, bot.LabelApproveThese)
	contains(t, w.tap("ann", token(card, bot.LabelApproveThese)), "Approved once: #")
	w.digest(0, "None of these 2 requests waits any more")
}

// TestOnlyThoseWhoDecideSeeTheForm: arguments in full are for owners.
func TestOnlyThoseWhoDecideSeeTheForm(t *testing.T) {
	w, forms := formsListWorld(t)
	w.issues("one", "two")
	_, card := w.digest(0, "2 requests wait")
	w.exec(`DELETE FROM agent_members`)
	contains(t, w.tap("ann", token(card, bot.LabelReviewAll)), "not yours to decide any more")
	if len(forms.forms) > 0 {
		t.Errorf("a form was shown: %+v", forms.forms)
	}
}

// TestAFormShowsMoreThanAMessage: a value that no message has room for is
// decided with others, one that no eye goes through beside others is not.
func TestAFormShowsMoreThanAMessage(t *testing.T) {
	w, forms := formsListWorld(t)
	long, longer := strings.Repeat("x", 5_000), strings.Repeat("x", 13_000)
	listed := w.issues(long+"1", long+"2", longer)
	_, card := w.digest(0, "3 requests wait")
	w.tap("ann", token(card, bot.LabelReviewAll))
	f := w.form(forms, 1)
	contains(t, dump(f.Card), "title: "+long+"1\n", "title: "+long+"2\n", fmt.Sprintf("#%d (its arguments do not fit here)", listed[2].ShortID))
	contains(t, w.tapForm("ann", choice(f, bot.LabelApproveThese), ""), fmt.Sprintf("Approved once: #%d, #%d.", listed[0].ShortID, listed[1].ShortID))
	if now := w.now(listed[2]); now.Status != approvals.Pending {
		t.Errorf("the other is %s", now.Status)
	}
}
