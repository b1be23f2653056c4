package bot_test

import (
	"testing"

	"holm/approvals"
	"holm/bot"
)

// notedCard is the message of a card, once the bot has stored which message that is.
func (w *world) notedCard(who string, r approvals.Request) bot.MessageRef {
	w.t.Helper()
	ref := w.card(who, r).ref
	w.poll("the card is noted", func() (found bool) {
		must("", w.pool.QueryRow(w.ctx, `SELECT EXISTS (SELECT FROM card_deliveries WHERE request_id = $1 AND message = $2)`, r.ID, ref.Message).Scan(&found))
		return found
	})
	return ref
}

// TestWordsThatAnswerACardDecideNothing, and are no word to the agent.
func TestWordsThatAnswerACardDecideNothing(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{"n":1}`)
	card := w.notedCard("ann", r)
	for _, text := range []string{"yes", "OK!", "👍", "👍🏽", "go ahead", ":+1:"} {
		contains(t, w.says("ann", text), "Nothing is decided about request #1", "approve main#1")
	}
	contains(t, w.replies("ann", card, "looks good to me"), "Nothing is decided about request #1")
	if now := w.now(r); now.Status != approvals.Pending {
		t.Errorf("request is %s", now.Status)
	}
	w.ask(`{"n":2}`)
	contains(t, w.says("ann", "yes"), "several requests wait")
	var said int
	must("", w.pool.QueryRow(w.ctx, `SELECT count(*) FROM session_events WHERE type = 'user_message'`).Scan(&said))
	if said != 0 {
		t.Errorf("%d words were told to the agent", said)
	}
}

// TestAReplyNamesItsRequest: the command needs no number then.
func TestAReplyNamesItsRequest(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	first, second := w.ask(`{"n":1}`), w.ask(`{"n":2}`)
	contains(t, w.replies("ann", w.notedCard("ann", second), "reject too early"), "Rejected: request #2")
	wantRejected(t, w.now(second), "Ann", "too early")
	contains(t, w.replies("ann", w.notedCard("ann", second), "approve #1"), "Approved once: request #1")
	third := w.ask(`{"n":3}`)
	ref := w.notedCard("ann", third)
	contains(t, w.replyTo("ann", func() { // in the thread below the card
		w.store(bot.Event{Kind: bot.Text, Identity: "ann", Direct: true, Text: "approve", Message: bot.MessageRef{Chat: ref.Chat, Message: "x", Thread: ref.Message}})
	}), "Approved once: request #3")
	if now := w.now(first); now.Status != approvals.Approved {
		t.Errorf("request is %s", now.Status)
	}
}

// TestANodWithNothingOpenIsAWordToTheAgent.
func TestANodWithNothingOpenIsAWordToTheAgent(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	contains(t, w.says("ann", "yes"), "No program of agent main listens")
}
