// Package console is the channel to the person at the terminal: it prints
// cards, reads keys and texts, and speaks for one identity. Whoever holds the
// terminal is that person; use it where that is so, as in the demo.
package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"holm/bot"
)

const (
	namespace = "console"
	chat      = "terminal"
)

// Config is what New needs.
type Config struct {
	// In is read line by line. Its end leaves the channel as a display.
	In io.Reader
	// Out is written to; colours are used if it is a terminal.
	Out io.Writer
	// Identity is who sits at the terminal, default "you".
	Identity string
	// Auto approves each call by itself, as if the key for it were pressed.
	Auto bool
}

// Channel is one terminal. Make it with New.
type Channel struct {
	in       io.Reader
	identity string
	auto     bool

	mu      sync.Mutex
	out     io.Writer
	style   style
	cards   []openCard // the newest last
	pending []string   // tokens that Auto has pressed and Run has not stored yet
	health  bot.Health
	pressed chan struct{}
}

// openCard is a card with buttons that was printed.
type openCard struct {
	message string
	buttons []bot.Button
}

var _ bot.Channel = (*Channel)(nil)

// New makes the channel.
func New(c Config) (*Channel, error) {
	if c.In == nil || c.Out == nil {
		return nil, errors.New("console: In and Out are required")
	}
	return &Channel{
		in: c.In, out: c.Out, identity: cmp.Or(c.Identity, "you"), auto: c.Auto,
		style: styleFor(c.Out), pressed: make(chan struct{}, 1),
	}, nil
}

// styleFor uses colours on terminals alone.
func styleFor(out io.Writer) style {
	f, ok := out.(*os.File)
	if !ok {
		return style{}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return style{}
	}
	return colours
}

// Namespace implements bot.Channel.
func (c *Channel) Namespace() string { return namespace }

// Limits implements bot.Channel: a screen or two.
func (c *Channel) Limits() bot.Limits { return bot.Limits{Value: 1000, Total: 8000, ButtonRow: 6} }

// Health implements bot.Channel.
func (c *Channel) Health() bot.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.health
}

// Send implements bot.Channel.
func (c *Channel) Send(_ context.Context, to bot.Recipient, card bot.Card) (bot.MessageRef, error) {
	if to.Identity != c.identity {
		return bot.MessageRef{}, fmt.Errorf("console: %q is not at this terminal: %w", to.Identity, bot.ErrUnreachable)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.print(c.style.card(card)); err != nil {
		return bot.MessageRef{}, err
	}
	message := uuid.Must(uuid.NewV7()).String()
	if buttons := slices.Concat(card.Buttons...); len(buttons) > 0 {
		c.cards = append(c.cards, openCard{message: message, buttons: buttons})
		c.approveBySelf(buttons)
	}
	return bot.MessageRef{Chat: chat, Message: message}, nil
}

// approveBySelf presses the key for one call when Auto is set, or first the one that
// brings all arguments; it is called with the lock held.
func (c *Channel) approveBySelf(buttons []bot.Button) {
	token, ok := tokenFor(buttons, "a")
	if !ok {
		token, ok = tokenFor(buttons, "d")
	}
	if !c.auto || !ok {
		return
	}
	c.pending = append(c.pending, token)
	select {
	case c.pressed <- struct{}{}:
	default:
	}
}

// Update implements bot.Channel: what a card became is a line of its own; one that
// offers something else now is printed again.
func (c *Channel) Update(_ context.Context, ref bot.MessageRef, card bot.Card) error {
	if ref.Chat != chat {
		return fmt.Errorf("console: no message of this terminal: %w", bot.ErrGone)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	buttons := slices.Concat(card.Buttons...)
	i := slices.IndexFunc(c.cards, func(o openCard) bool { return o.message == ref.Message })
	switch {
	case i < 0:
	case len(buttons) == 0:
		c.cards = slices.Delete(c.cards, i, i+1)
	case keysOf(c.cards[i].buttons) != keysOf(buttons):
		c.cards[i].buttons = buttons
		c.approveBySelf(buttons)
		return c.print(c.style.card(card))
	}
	return c.print(c.style.update(card))
}

// Answer implements bot.Channel.
func (c *Channel) Answer(_ context.Context, _ bot.Event, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.print(c.style.toast(text))
}

// print is called with the lock held.
func (c *Channel) print(text string) error {
	if _, err := io.WriteString(c.out, text); err != nil {
		c.health.Error = "the terminal cannot be written to"
		return fmt.Errorf("console: write: %w", err)
	}
	c.health.Error = ""
	return nil
}

// event is what the channel keeps in the inbox.
type event struct {
	Token string `json:"token,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Decode implements bot.Channel.
func (c *Channel) Decode(payload json.RawMessage) (bot.Event, bool, error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return bot.Event{}, false, fmt.Errorf("console: read an event: %w", err)
	}
	ev := bot.Event{Kind: bot.Text, Identity: c.identity, Name: c.identity, Direct: true, Text: e.Text, Token: e.Token}
	if e.Token != "" {
		ev.Kind = bot.Tap
	}
	return ev, true, nil
}

func (c *Channel) received(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.LastEvent = at
}
