package bot_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"holm/bot"
)

// flooded is a world in which ann, an owner, is the only one whose chat takes
// replies: the others' wait there until the test ends.
func flooded(t *testing.T) *world {
	t.Helper()
	w := idleWorld(t)
	full := make(chan struct{})
	w.chat.beforeSendTo = func(to bot.Recipient) error {
		if to.Identity != "ann" {
			<-full
		}
		return nil
	}
	w.start()
	t.Cleanup(func() { close(full) })
	w.owner("ann")
	return w
}

// flood stores 200 texts; who tells who writes each.
func (w *world) flood(who func(i int) string) {
	w.t.Helper()
	var events []bot.Incoming
	for i := range 200 {
		payload := must(json.Marshal(bot.Event{Kind: bot.Text, Identity: who(i), Direct: true, Text: "whoami"}))
		events = append(events, bot.Incoming{ID: fmt.Sprint(i), Payload: payload})
	}
	if err := w.bot.Store(w.ctx, w.namespace, events...); err != nil {
		w.t.Fatal(err)
	}
}

// TestAFloodOfTextsHoldsUpNobodyElse: neither what others tap nor what they type.
func TestAFloodOfTextsHoldsUpNobodyElse(t *testing.T) {
	w := flooded(t)
	once := w.token("ann", w.ask(`{"n":1}`), "Approve this call")
	w.flood(func(int) string { return "gus" })
	contains(t, w.says("ann", "pending"), "#1 ·")
	contains(t, w.tap("ann", once), "Approved once")
}

// TestFloodsOfManyHoldUpNoTap: together they have all there is for what is typed.
func TestFloodsOfManyHoldUpNoTap(t *testing.T) {
	w := flooded(t)
	once := w.token("ann", w.ask(`{"n":1}`), "Approve this call")
	w.flood(func(i int) string { return fmt.Sprint("stranger", i) })
	contains(t, w.tap("ann", once), "Approved once")
}
