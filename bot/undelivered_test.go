package bot_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"holm/bot"
	"holm/policy"
)

// cardsFail makes the platform refuse cards, and nothing else, while down says so.
func (w *world) cardsFail(down func() bool, why error) {
	w.platform(func(call string, card bot.Card) error {
		if call == "send" && len(card.Buttons) > 0 && down() {
			return why
		}
		return nil
	})
}

func TestAPlatformThatFailsForAMinute(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	gus := w.member("chat", "gus", policy.Guest, "main")
	var down atomic.Bool
	down.Store(true)
	w.cardsFail(down.Load, errors.New("503 service unavailable"))
	w.start()
	r := w.askAs("main", gus, `{}`, nil)
	w.poll("a first attempt", func() bool { _, attempts, _ := w.delivery("ann", r); return attempts > 0 })
	if err := w.svc.MarkUndelivered(w.ctx, r.ID); err != nil || w.now(r).UndeliveredAt != nil {
		t.Fatalf("marked before its minute was up (%v)", err)
	}
	w.exec(`UPDATE card_deliveries SET created_at = created_at - interval '61 seconds'`)
	w.exec(`UPDATE approval_requests SET created_at = created_at - interval '61 seconds'`)
	for range 2 {
		if err := w.svc.MarkUndelivered(w.ctx, r.ID); err != nil || w.now(r).UndeliveredAt == nil {
			t.Fatalf("not marked (%v)", err)
		}
	}
	w.see("that nobody was reached", func() bool { return w.told("gus", "Request #1", "nobody who may answer could be reached") })

	down.Store(false)
	w.hurry()
	w.card("ann", r)
	w.see("that somebody was reached", func() bool { return w.told("gus", "Request #1", "has now reached somebody") })
	w.settled()
	if w.now(r).UndeliveredAt != nil {
		t.Error("still marked")
	}
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	told := 0
	for _, m := range w.chat.messages {
		if m.to.Identity == "gus" {
			told++
		}
	}
	if told != 2 {
		t.Errorf("gus got %d messages, want two", told)
	}
}

// When the last way to somebody has failed for good, nobody waits for the minute.
func TestTheLastWayThatFailsIsKnownAtOnce(t *testing.T) {
	w := idleWorld(t)
	w.owner("ann")
	bob := w.owner("bob")
	gus := w.member("chat", "gus", policy.Guest, "main")
	w.cardsFail(func() bool { return true }, fmt.Errorf("blocked: %w", bot.ErrUnreachable))
	r := w.askAs("main", gus, `{}`, nil)
	w.start()
	w.see("that nobody was reached", func() bool { return w.told("gus", "Request #1", "nobody who may answer could be reached") })
	w.settled()
	if w.now(r).UndeliveredAt == nil {
		t.Error("not marked")
	}
	// One way that is left is enough.
	w.exec(`UPDATE agent_members SET role = 'guest' WHERE user_id = $1`, bob)
	w.platform(nil)
	w.says("ann", "start")
	w.card("ann", r)
	w.see("that somebody was reached", func() bool { return w.told("gus", "Request #1", "has now reached somebody") })
	if w.now(r).UndeliveredAt != nil {
		t.Error("still marked")
	}
}
