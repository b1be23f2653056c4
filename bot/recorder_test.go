package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"holm/bot"
)

// recorder is a channel in memory: it keeps what people see and hands over
// what tests make them do. It is as strict as a platform: buttons must have a
// label and a token that fits, and only messages that exist are edited.
type recorder struct {
	namespace string
	limits    bot.Limits

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at each change
	next      int
	messages  []*message
	answers   []answer
	files     []file
	questions []question
	// atOnce makes the channel one that asks without a message of its own.
	atOnce bool
	// before is called ahead of each Send and Update, without the lock; its
	// error is what the platform answers.
	before func(what string, c bot.Card) error
	// asking is called while a question is seen and Ask has not returned yet; its
	// error is what Ask returns.
	asking func(question) error
	// beforeSendTo is the same for each Send, by recipient.
	beforeSendTo func(to bot.Recipient) error
}

type message struct {
	ref   bot.MessageRef
	to    bot.Recipient
	card  bot.Card
	edits int
}

type answer struct{ identity, text string }

type question struct {
	identity string
	bot.Question
	at bot.MessageRef
}

type file struct {
	to      bot.Recipient
	name    string
	data    string
	caption string
}

// withFiles is a recorder that can send files.
type withFiles struct{ *recorder }

var (
	_ bot.Channel    = (*recorder)(nil)
	_ bot.Asker      = (*recorder)(nil)
	_ bot.FileSender = withFiles{}
)

func newRecorder(namespace string) *recorder {
	return &recorder{
		namespace: namespace, limits: bot.Limits{Value: 600, Total: 3800, ButtonRow: 3},
		changed: make(chan struct{}),
	}
}

func (c *recorder) Namespace() string  { return c.namespace }
func (c *recorder) Limits() bot.Limits { return c.limits }
func (c *recorder) Health() bot.Health { return bot.Health{Connected: true} }

func (c *recorder) Run(ctx context.Context, _ bot.Inbox) error {
	<-ctx.Done()
	return nil
}

func (c *recorder) Send(_ context.Context, to bot.Recipient, card bot.Card) (bot.MessageRef, error) {
	if err := c.ask("send", card); err != nil {
		return bot.MessageRef{}, err
	}
	if c.beforeSendTo != nil {
		if err := c.beforeSendTo(to); err != nil {
			return bot.MessageRef{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	m := &message{ref: bot.MessageRef{Chat: "chat-" + to.Identity, Message: fmt.Sprint(c.next)}, to: to, card: card}
	c.messages = append(c.messages, m)
	c.touch()
	return m.ref, nil
}

func (c *recorder) Update(_ context.Context, ref bot.MessageRef, card bot.Card) error {
	if err := c.ask("update", card); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.messages, func(m *message) bool { return m.ref == ref })
	if i < 0 {
		return fmt.Errorf("no message %v: %w", ref, bot.ErrGone)
	}
	c.messages[i].card = card
	c.messages[i].edits++
	c.touch()
	return nil
}

func (c *recorder) ask(what string, card bot.Card) error {
	c.mu.Lock()
	before := c.before
	c.mu.Unlock()
	if before != nil {
		if err := before(what, card); err != nil {
			return err
		}
	}
	return strict(card)
}

func strict(card bot.Card) error {
	if strings.TrimSpace(card.Head) == "" {
		return errors.New("a card without a head")
	}
	for _, b := range slices.Concat(card.Buttons...) {
		if b.Label == "" || b.Token == "" || len(b.Token) > 64 {
			return fmt.Errorf("a button that no platform takes: %+v", b)
		}
	}
	return nil
}

func (c *recorder) Answer(_ context.Context, ev bot.Event, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, answer{ev.Identity, text})
	c.touch()
	return nil
}

func (c *recorder) Ask(_ context.Context, ev bot.Event, q bot.Question) (bot.MessageRef, error) {
	if err := c.ask("ask", bot.Card{Head: q.Text}); err != nil {
		return bot.MessageRef{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := question{identity: ev.Identity, Question: q}
	if !c.atOnce {
		c.next++
		asked.at = bot.MessageRef{Chat: "chat-" + ev.Identity, Message: fmt.Sprint(c.next)}
	}
	c.questions = append(c.questions, asked)
	c.touch()
	if c.asking == nil {
		return asked.at, nil
	}
	asking := c.asking
	c.mu.Unlock()
	err := asking(asked)
	c.mu.Lock()
	return asked.at, err
}

func (c *recorder) AsksAtOnce() bool { return c.atOnce }

func (c *recorder) Decode(payload json.RawMessage) (bot.Event, bool, error) {
	var ev bot.Event
	if err := json.Unmarshal(payload, &ev); err != nil {
		return ev, false, err
	}
	if ev.Text == "undecodable" {
		return bot.Event{}, false, errors.New("undecodable")
	}
	return ev, ev.Kind != "", nil
}

func (c withFiles) SendFile(_ context.Context, to bot.Recipient, name string, data []byte, caption string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, file{to, name, string(data), caption})
	c.touch()
	return nil
}

// touch is called with the lock held.
func (c *recorder) touch() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// until waits for seen to be true of what people see.
func (c *recorder) until(ctx context.Context, seen func() bool) bool {
	for {
		c.mu.Lock()
		ok, changed := seen(), c.changed
		c.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}
