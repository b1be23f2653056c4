package bot_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"holm/bot"
	"holm/policy"
)

// typist is a recorder that shows signs, or fails to.
type typist struct {
	*recorder
	fails error
	signs []string
}

func (c *typist) Typing(_ context.Context, to bot.Recipient) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signs = append(c.signs, to.Identity)
	c.touch()
	return c.fails
}

// typistWorld has the guest gus on a channel that shows signs.
func typistWorld(t *testing.T) (*world, *typist) {
	t.Helper()
	c := &typist{recorder: newRecorder("signed")}
	w := idleWorld(t, c)
	w.chat, w.namespace = c.recorder, "signed"
	w.start()
	w.member("signed", "gus", policy.Guest, "main")
	return w, c
}

// TestARunningCallShowsASign, and a sign that fails holds nothing up.
func TestARunningCallShowsASign(t *testing.T) {
	for name, fails := range map[string]error{"shown": nil, "failed": errors.New("down")} {
		t.Run(name, func(t *testing.T) {
			w, c := typistWorld(t)
			c.fails = fails
			w.shop.mu.Lock()
			w.shop.during = func(string) {
				w.see("a sign while the call runs", func() bool { return slices.Equal(c.signs, []string{"gus"}) })
			}
			w.shop.mu.Unlock()
			w.types("gus", "run list max=1")
			w.hears("gus", "✅ mcp__shop__list")
		})
	}
}

// TestATextShowsASignWhereSomebodyListens: once, and never in a group.
func TestATextShowsASignWhereSomebodyListens(t *testing.T) {
	w, c := typistWorld(t)
	w.types("gus", "hello")
	w.hears("gus", "No program of agent main listens now")
	w.attach()
	w.store(bot.Event{Kind: bot.Text, Identity: "gus", Text: "hello all", Message: bot.MessageRef{Chat: "room", Message: "1"}})
	w.poll("both texts stored", func() bool { _, texts := w.said(); return len(texts) == 2 })
	w.types("gus", "hello you")
	w.see("a sign", func() bool { return len(c.signs) > 0 })
	w.settled()
	w.chat.mu.Lock()
	defer w.chat.mu.Unlock()
	if !slices.Equal(c.signs, []string{"gus"}) {
		t.Errorf("signs for %v", c.signs)
	}
}
