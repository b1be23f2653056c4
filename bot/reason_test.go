package bot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/bot"
	"holm/policy"
)

// question waits for the nth question that was put to a person.
func (w *world) question(who string, n int) question {
	w.t.Helper()
	var asked []question
	w.see("a question to "+who, func() bool {
		asked = nil
		for _, q := range w.chat.questions {
			if q.identity == who {
				asked = append(asked, q)
			}
		}
		return len(asked) >= n
	})
	return asked[n-1]
}

// labelled waits for the card of r at a person to have a button.
func (w *world) labelled(who string, r approvals.Request, label string) string {
	w.t.Helper()
	var text string
	w.see("button "+label+" at "+who, func() bool {
		m := w.find(who, "#1")
		if m == nil {
			return false
		}
		text = token(m.card, label)
		return text != ""
	})
	return text
}

// startReason taps "Reject with reason…" and waits for the dialog.
func (w *world) startReason(who string, r approvals.Request) {
	w.t.Helper()
	w.tap(who, w.token(who, r, bot.LabelRejectWhy))
	w.labelled(who, r, bot.LabelBack)
}

// replies answers a message of the bot and gives what the bot then says.
func (w *world) replies(who string, to bot.MessageRef, text string) string {
	w.t.Helper()
	return w.replyTo(who, func() {
		w.store(bot.Event{Kind: bot.Text, Identity: who, Name: who, Direct: true, Text: text, ReplyTo: to})
	})
}

func wantRejected(t *testing.T, r approvals.Request, who, reason string) {
	t.Helper()
	if r.Status != approvals.Rejected || *r.ResolvedName != who || r.Reason == nil || *r.Reason != reason {
		t.Errorf("request is %+v", r)
	}
}

func TestReadyReason(t *testing.T) {
	for label, reason := range map[string]string{
		bot.LabelNotNow: "Not now.", bot.LabelWrongArguments: "The arguments are wrong.",
		bot.LabelTooRisky: "Too risky.", bot.LabelAskMeFirst: "Ask me first.", bot.LabelTryDifferently: "Try it differently.",
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t)
			w.owner("ann")
			r := w.ask(`{}`)
			w.startReason("ann", r)
			contains(t, w.tap("ann", w.labelled("ann", r, label)), "Rejected: request #1")
			wantRejected(t, w.now(r), "Ann", reason)
			if invites := w.now(r).TryDifferently; invites != (label == bot.LabelTryDifferently) {
				t.Errorf("invites another proposal: %v", invites)
			}
		})
	}
}

func TestWrittenReason(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	r := w.ask(`{}`)
	w.startReason("ann", r)
	contains(t, w.tap("ann", w.labelled("ann", r, bot.LabelOther)), "Answer the message")
	asked := w.question("ann", 1)
	contains(t, asked.Text, "#1", "github__create_issue", "rejected")

	// Bob's answer to Ann's question is not one; neither is what Ann says besides.
	w.replies("bob", asked.at, "I want this")
	w.says("ann", "let me think")
	if now := w.now(r); now.Held() == nil || now.Held().Name != "Ann" {
		t.Fatalf("request is %+v", now)
	}
	// What cannot be a reason is said so, and loses nothing.
	contains(t, w.replies("ann", asked.at, strings.Repeat("x", 1001)), "longer than 1000")
	contains(t, w.replies("ann", asked.at, " the repository is archived "), "Rejected: request #1")
	wantRejected(t, w.now(r), "Ann", "the repository is archived")
	// The same answer again, and another one, change nothing.
	contains(t, w.replies("ann", asked.at, "the repository is archived"), "Rejected: request #1")
	contains(t, w.replies("ann", asked.at, "no, wait"), "was already rejected by Ann")
	wantRejected(t, w.now(r), "Ann", "the repository is archived")
}

func TestNobodyElseDecidesWhileAReasonIsWritten(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	r := w.ask(`{"a":1}`)
	approve, why := w.token("bob", r, bot.LabelApproveCall), w.token("bob", r, bot.LabelRejectWhy)
	w.startReason("ann", r)
	w.see("the wait on Bob's card", func() bool {
		m := w.find("bob", "#1")
		return token(m.card, bot.LabelApproveCall) == "" && token(m.card, bot.LabelBack) == "" &&
			token(m.card, bot.LabelDetails) != "" && strings.Contains(strings.Join(m.card.Notes, " "), "Ann is writing a reason")
	})
	contains(t, w.tap("bob", approve), "Ann is writing a reason for request #1")
	contains(t, w.tap("bob", why), "Ann is writing a reason for request #1")
	contains(t, w.says("bob", "approve 1"), "Ann is writing a reason for request #1")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Fatalf("request is %s", now.Status)
	}
	contains(t, w.tap("ann", w.labelled("ann", r, bot.LabelBack)), "Nothing was decided")
	contains(t, w.tap("bob", w.labelled("bob", r, bot.LabelApproveCall)), "Approved once")
}

func TestAMindThatIsChanged(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	approve := w.token("ann", r, bot.LabelApproveCall)
	w.startReason("ann", r)
	back, other := w.labelled("ann", r, bot.LabelBack), w.labelled("ann", r, bot.LabelOther)
	w.tap("ann", other)
	asked := w.question("ann", 1)
	contains(t, w.tap("ann", approve), "Approved once")
	contains(t, w.replies("ann", asked.at, "too late"), "was already approved")
	contains(t, w.tap("ann", back), "already approved")
	contains(t, w.tap("ann", other), "was already approved")
	if now := w.now(r); now.Status != approvals.Approved || *now.Resolution != policy.Single || now.Reason != nil {
		t.Errorf("request is %+v", now)
	}
}

func TestAnAnswerAfterBackDecidesNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.startReason("ann", r)
	w.tap("ann", w.labelled("ann", r, bot.LabelOther))
	asked := w.question("ann", 1)
	w.tap("ann", w.labelled("ann", r, bot.LabelBack))
	contains(t, w.replies("ann", asked.at, "because"), "does not wait for this reason")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %+v", now)
	}
}

func TestAReasonNobodyWritesIsARejectionWithoutOne(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.startReason("ann", r)
	w.exec(`UPDATE approval_requests SET hold = jsonb_set(hold, '{until}', to_jsonb(now()))`)
	w.exec(`UPDATE river.river_job SET scheduled_at = now(), state = 'available' WHERE kind = 'approval_end_hold'`)
	w.see("the rejection on the card", func() bool { return w.find("ann", "⛔ Rejected · #1") != nil })
	if now := w.now(r); now.Status != approvals.Rejected || *now.ResolvedName != "Ann" || now.Reason != nil {
		t.Errorf("request is %+v", now)
	}
}

func TestModalReason(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.owner("bob")
	w.chat.atOnce = true
	r := w.ask(`{}`)
	w.tap("ann", w.token("ann", r, bot.LabelRejectWhy))
	asked := w.question("ann", 1)
	submit := func(who, token, text string) string {
		return w.replyTo(who, func() { w.store(bot.Event{Kind: bot.Reply, Identity: who, Token: token, Text: text}) })
	}
	contains(t, submit("bob", asked.Token, "mine"), "somebody else")
	contains(t, submit("ann", asked.Token[1:]+"A", "forged"), "no question of ours")
	// The token of another decision is not what the hold waits for.
	contains(t, submit("ann", w.token("ann", r, bot.LabelNotNow), "other"), "does not wait")
	contains(t, submit("ann", asked.Token, "in words"), "Rejected: request #1")
	wantRejected(t, w.now(r), "Ann", "in words")
}

func TestAQuestionThatCannotBePutLeavesTheDialog(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.startReason("ann", r)
	w.chat.mu.Lock()
	w.chat.before = func(what string, _ bot.Card) error {
		if what == "ask" {
			return bot.ErrGone
		}
		return nil
	}
	w.chat.mu.Unlock()
	contains(t, w.tap("ann", w.labelled("ann", r, bot.LabelOther)), "could not be asked")
	contains(t, w.tap("ann", w.labelled("ann", r, bot.LabelTooRisky)), "Rejected")
}

func (w *world) answersQuestion(asked question, text string) {
	w.store(bot.Event{Kind: bot.Text, Identity: asked.identity, Name: asked.identity, Direct: true, Text: text, ReplyTo: asked.at})
}

// answersEarly answers a question that is not noted, and waits until that was
// looked at once.
func (w *world) answersEarly(asked question, text string) {
	w.answersQuestion(asked, text)
	ctx, cancel := context.WithTimeout(w.ctx, waitFor)
	defer cancel()
	for looked := false; !looked; time.Sleep(10 * time.Millisecond) {
		err := w.pool.QueryRow(ctx, `
			SELECT EXISTS (SELECT
			               FROM river.river_job j
			               JOIN inbox i ON i.event_id = j.args ->> 'eventId'
			               WHERE i.payload ->> 'Text' = $1
			                 AND cardinality(j.errors) > 0)`, text).Scan(&looked)
		if err != nil {
			w.t.Error(err)
			return
		}
	}
}

// TestAnAnswerThatComesBeforeItsQuestionIsNoted: people and platforms are
// faster than the note of which message the question is; the answer waits for the
// tap that it follows.
func TestAnAnswerThatComesBeforeItsQuestionIsNoted(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.startReason("ann", r)
	w.chat.asking = func(asked question) error {
		w.answersQuestion(asked, "not on a Friday")
		return nil
	}
	w.tap("ann", w.labelled("ann", r, bot.LabelOther))
	w.see("the rejection on the card", func() bool { return w.find("ann", "⛔ Rejected · #1") != nil })
	wantRejected(t, w.now(r), "Ann", "not on a Friday")
}

// TestAnAnswerToAQuestionThatWasNeverNoted: the platform put the question and
// its answer was lost.
func TestAnAnswerToAQuestionThatWasNeverNoted(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.startReason("ann", r)
	w.chat.asking = func(question) error { return errors.New("connection reset") }
	contains(t, w.tap("ann", w.labelled("ann", r, bot.LabelOther)), "could not be asked")
	asked := w.question("ann", 1)
	said := w.replyTo("ann", func() {
		w.answersEarly(asked, "not on a Friday")
		w.exec(`UPDATE inbox SET received_at = received_at - interval '1 minute'`)
	})
	contains(t, said, "cannot tell which question", "reject main#1 REASON")
	if now := w.now(r); now.Held() == nil {
		t.Errorf("request is %+v", now)
	}
	contains(t, w.says("ann", "reject main#1 not on a Friday"), "Rejected: request #1")
	wantRejected(t, w.now(r), "Ann", "not on a Friday")
}

// TestARuleThatWantsReasons: the same dialog serves every decision.
func TestARuleThatWantsReasons(t *testing.T) {
	wanting := &policy.ApprovalSettings{RequireReason: true}
	t.Run("approval", func(t *testing.T) {
		w := newWorld(t)
		w.owner("ann")
		r := w.askAs("main", "agent:main", `{}`, wanting)
		contains(t, w.tap("ann", w.token("ann", r, bot.LabelApproveForTime)), "Answer the message")
		asked := w.question("ann", 1)
		contains(t, asked.Text, "approved")
		w.labelled("ann", r, bot.LabelBack)
		contains(t, w.replies("ann", asked.at, "the customer is in the room"), "Approved for 60 min")
		if now := w.now(r); *now.Resolution != policy.Once || *now.Reason != "the customer is in the room" {
			t.Errorf("request is %+v", now)
		}
	})
	t.Run("rejection", func(t *testing.T) {
		w := newWorld(t)
		w.owner("ann")
		r := w.askAs("main", "agent:main", `{}`, wanting)
		if m := w.card("ann", r); token(m.card, bot.LabelRejectWhy) != "" {
			t.Error("two buttons lead to one dialog")
		}
		contains(t, w.tap("ann", w.token("ann", r, bot.LabelReject)), "Tap a reason")
		contains(t, w.tap("ann", w.labelled("ann", r, bot.LabelTooRisky)), "Rejected")
		wantRejected(t, w.now(r), "Ann", "Too risky.")
	})
}
