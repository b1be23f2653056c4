package bot_test

import (
	"errors"
	"strings"
	"testing"

	"holm/bot"
)

// forget leaves the database as a kill between the platform's answer and the
// commit does: the card is in the chat and nothing knows of it.
func (w *world) forget(requestID, state string) {
	w.t.Helper()
	w.exec(`UPDATE card_deliveries SET state = $2, chat = '', message = '', shown_version = 0, shown_hash = '', sent_at = NULL WHERE request_id = $1`, requestID, state)
}

func TestTapOnAForgottenCardAdoptsIt(t *testing.T) {
	for _, state := range []string{"queued", "skipped"} {
		t.Run(state, func(t *testing.T) {
			w := newWorld(t)
			w.owner("ann")
			r := w.ask(`{}`)
			card := w.card("ann", r)
			press := w.token("ann", r, bot.LabelApproveCall)
			w.poll("the delivery", func() bool { s, _, _ := w.delivery("ann", r); return s == "sent" })
			w.forget(r.ID, state)

			contains(t, w.answerTo("ann", func() {
				w.store(bot.Event{Kind: bot.Tap, Identity: "ann", Name: "ann", Direct: true, Token: press, Message: card.ref})
			}), "Approved once")
			w.see("the adopted card closed", func() bool { return len(card.card.Buttons) == 0 })
			if s, _, _ := w.delivery("ann", r); s != "sent" {
				t.Errorf("the delivery is %s", s)
			}
		})
	}
}

func TestTapOnADuplicateCardClosesBoth(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	first := w.card("ann", r)
	press := w.token("ann", r, bot.LabelApproveCall)
	w.poll("the delivery", func() bool { s, _, _ := w.delivery("ann", r); return s == "sent" })
	// The first sending was not recorded, and the card was sent again.
	second, err := w.chat.Send(t.Context(), bot.Recipient{Identity: "ann"}, first.card)
	if err != nil {
		t.Fatal(err)
	}
	w.exec(`UPDATE card_deliveries SET chat = $2, message = $3 WHERE request_id = $1`, r.ID, second.Chat, second.Message)

	w.answerTo("ann", func() {
		w.store(bot.Event{Kind: bot.Tap, Identity: "ann", Name: "ann", Direct: true, Token: press, Message: first.ref})
	})
	w.see("both cards closed", func() bool {
		for _, m := range w.chat.messages {
			if len(m.card.Buttons) > 0 {
				return false
			}
		}
		return true
	})
}

// While a card is sent again, a tap shows that the first sending has arrived: the
// card that was tapped stays, and the other is not left open.
func TestACardSentBehindAnAdoptedOneIsClosed(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.chat.before = func(what string, _ bot.Card) error {
		if what == "send" {
			w.exec(`UPDATE card_deliveries SET state = 'sent', chat = 'ann', message = 'tapped' WHERE request_id = $1`, r.ID) // as adopt does
		}
		return nil
	}
	w.start()
	w.see("the later copy without buttons", func() bool {
		card := w.find("ann", "#1")
		return card != nil && len(card.card.Buttons) == 0 && strings.Contains(strings.Join(card.card.Notes, " "), "second copy")
	})
	var at string
	if err := w.pool.QueryRow(t.Context(), `SELECT message FROM card_deliveries`).Scan(&at); err != nil || at != "tapped" {
		t.Errorf("the card is said to be %q (%v), want the one that was tapped", at, err)
	}
}

// A sending fails whose card has arrived, and a tap shows that before the failure
// is noted: the card stays known and shows how its request ends.
func TestAFailureBehindATapForgetsNoCard(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	r := w.ask(`{}`)
	w.chat.before = func(what string, _ bot.Card) error {
		if what != "send" {
			return nil
		}
		w.exec(`UPDATE card_deliveries SET state = 'sent', chat = 'ann', message = 'tapped' WHERE request_id = $1`, r.ID) // as adopt does
		return errors.New("the answer is lost")
	}
	w.start()
	w.poll("the failed delivery", func() bool {
		var done bool
		err := w.pool.QueryRow(w.ctx, `SELECT EXISTS (SELECT 1 FROM river.river_job WHERE kind = 'approval_deliver' AND attempt > 0 AND state <> 'running')`).Scan(&done)
		return must(done, err)
	})
	w.hurry()
	w.settled()
	if state, _, _ := w.delivery("ann", r); state != "sent" {
		t.Errorf("the card is said to be %s", state)
	}
}
