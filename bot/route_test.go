package bot_test

import (
	"fmt"
	"testing"

	"holm/bot"
)

// Fault 12 of the platforms: a person who has blocked the bot, or never started
// it, is shown as such, and gets what waits once they can be written to.
func TestFault12ClosedRoutesShowAndOpenAgain(t *testing.T) {
	for name, back := range map[string]bot.Event{
		"unblocked": {Kind: bot.Joined, Identity: "ann", Direct: true},
		"a text":    {Kind: bot.Text, Identity: "ann", Direct: true, Text: "whoami"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.owner("ann")
			w.chat.mu.Lock()
			w.chat.before = func(string, bot.Card) error { return fmt.Errorf("403: %w", bot.ErrUnreachable) }
			w.chat.mu.Unlock()
			r := w.ask(`{}`)
			w.poll("the route is closed", func() bool { return len(w.closed()) == 1 })
			if c := w.closed()[0]; c.Channel != "chat" || c.Identity != "ann" || c.Name != "Ann" || c.Since.IsZero() {
				t.Errorf("closed is %+v", c)
			}
			w.chat.mu.Lock()
			w.chat.before = nil
			w.chat.mu.Unlock()
			w.store(bot.Event{Kind: bot.Joined, Identity: "bob", Direct: true}) // somebody else
			w.store(back)
			w.card("ann", r)
			if c := w.closed(); len(c) != 0 {
				t.Errorf("still closed: %+v", c)
			}
		})
	}
}

func TestALeftChatIsNotedOfPeopleWhoAreKnown(t *testing.T) {
	w := newWorld(t)
	w.owner("ann")
	w.store(bot.Event{Kind: bot.Left, Identity: "stranger", Direct: true})
	w.store(bot.Event{Kind: bot.Left, Identity: "ann", Direct: true})
	w.poll("the route is closed", func() bool { return len(w.closed()) == 1 })
	contains(t, w.closed()[0].Reason, "blocked the bot")
	// What happens in a group says nothing of the direct chat.
	w.store(bot.Event{Kind: bot.Text, Identity: "ann", Text: "whoami"})
	w.see("a reply", func() bool { return len(w.chat.messages) == 1 })
	if len(w.closed()) != 1 || w.closed()[0].Identity != "ann" {
		t.Errorf("closed is %+v", w.closed())
	}
}

func (w *world) closed() []bot.ClosedRoute {
	w.t.Helper()
	return must(w.bot.ClosedRoutes(w.ctx))
}
