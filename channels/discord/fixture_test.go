package discord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holm/bot"
	"holm/channels/discord"
	"holm/internal/testkit/discordfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inbox keeps payloads in memory. before runs at the start of each Store and may
// refuse it.
type inbox struct {
	mu     sync.Mutex
	stored map[string]json.RawMessage
	order  []string
	calls  int
	before func(eventID string) error
	grew   chan struct{}
}

func newInbox() *inbox {
	return &inbox{stored: map[string]json.RawMessage{}, grew: make(chan struct{})}
}

func (in *inbox) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	for _, e := range events {
		if err := in.keep(ctx, namespace, e.ID, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (in *inbox) keep(_ context.Context, namespace, eventID string, payload json.RawMessage) error {
	in.mu.Lock()
	before := in.before
	in.mu.Unlock()
	if before != nil {
		if err := before(eventID); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.calls++
	if _, ok := in.stored[eventID]; !ok {
		in.stored[eventID] = payload
		in.order = append(in.order, eventID)
	}
	close(in.grew)
	in.grew = make(chan struct{})
	return nil
}

func (in *inbox) LastID(context.Context, string) (int64, error) { return 0, nil }

func (in *inbox) beforeStore(f func(eventID string) error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.before = f
}

func (in *inbox) ids() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.order)
}

func (in *inbox) payloads() map[string]json.RawMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.stored)
}

// until waits until cond holds, which is asked with mu held.
func (in *inbox) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		in.mu.Lock()
		ok, grew := cond(), in.grew
		in.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-grew:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// wait waits for n events and gives them.
func (in *inbox) wait(t *testing.T, c *discord.Channel, n int) []bot.Event {
	t.Helper()
	in.until(t, "events", func() bool { return len(in.order) >= n })
	in.mu.Lock()
	defer in.mu.Unlock()
	var events []bot.Event
	for _, id := range in.order {
		ev, ok, err := c.Decode(in.stored[id])
		if err != nil || !ok {
			t.Errorf("decode %s: %v, %v", id, ok, err)
		}
		events = append(events, ev)
	}
	return events
}

// setup is a channel against a fake Discord.
type setup struct {
	*discord.Channel
	fake  *discordfake.Server
	inbox *inbox
	logs  *buffer
	ann   *discordfake.Person
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// idle is a setup whose channel does not run.
func idle(t *testing.T, opts discordfake.Options) *setup {
	t.Helper()
	s := &setup{fake: discordfake.New(t, opts), inbox: newInbox(), logs: &buffer{}}
	s.ann = s.fake.Person("Ann")
	s.Channel = s.open(t)
	return s
}

func (s *setup) open(t *testing.T) *discord.Channel {
	t.Helper()
	c, err := discord.New(discord.Config{
		Token: s.fake.Token(), APIURL: s.fake.APIURL(), Logger: slog.New(slog.NewTextHandler(s.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Hasten(time.Hour)
	return c
}

// connected is a setup whose channel runs until the end of the test.
func connected(t *testing.T, opts discordfake.Options) *setup {
	t.Helper()
	s := idle(t, opts)
	run(t, s.Channel, s.inbox)
	s.fake.WaitReady(1)
	return s
}

// run runs a channel until the test or, when it is called, stop ends it.
func run(t *testing.T, c *discord.Channel, in bot.Inbox) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, in) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Run did not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

func (s *setup) to() bot.Recipient { return bot.Recipient{Identity: s.ann.Identity()} }

func (s *setup) send(t *testing.T, card bot.Card) (bot.MessageRef, discordfake.Message) {
	t.Helper()
	ref, err := s.Send(t.Context(), s.to(), card)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	for _, m := range s.ann.Messages() {
		if m.ID == ref.Message && m.Channel == ref.Chat {
			return ref, m
		}
	}
	t.Fatalf("%+v is no message of the chat", ref)
	return ref, discordfake.Message{}
}

// card is a small card with two buttons.
func card() bot.Card {
	return bot.Card{
		Head:  "Approval needed: shop/refund",
		Facts: []bot.Fact{{Label: "Requester", Value: "Bea via agent main"}, {Label: "Agent says", Value: "all is well", Quote: true}},
		Args:  []bot.Arg{{Name: "amount", Value: "12"}, {Name: "note", Value: "for the broken lamp"}},
		Notes: []string{"Approving runs the waiting call at once."},
		Buttons: [][]bot.Button{{
			{Label: "Approve once", Token: "tok-approve", Style: bot.Primary},
			{Label: "Reject", Token: "tok-reject", Style: bot.Danger},
		}},
	}
}
