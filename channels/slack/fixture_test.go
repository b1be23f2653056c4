package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"holm/bot"
	"holm/channels/slack"
	"holm/internal/testkit/slackfake"
)

// inbox keeps payloads in memory. before runs at the start of each Store and
// may refuse it.
type inbox struct {
	mu     sync.Mutex
	stored map[string]json.RawMessage
	order  []string
	before func(ctx context.Context, eventID string) error
	grew   chan struct{}
}

func newInbox() *inbox {
	return &inbox{stored: make(map[string]json.RawMessage), grew: make(chan struct{}, 1000)}
}

func (in *inbox) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	for _, e := range events {
		if err := in.keep(ctx, namespace, e.ID, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (in *inbox) keep(ctx context.Context, namespace, eventID string, payload json.RawMessage) error {
	in.mu.Lock()
	before := in.before
	in.mu.Unlock()
	if before != nil {
		if err := before(ctx, eventID); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, ok := in.stored[eventID]; !ok {
		in.stored[eventID] = payload
		in.order = append(in.order, eventID)
	}
	in.grew <- struct{}{}
	return nil
}

func (in *inbox) LastID(context.Context, string) (int64, error) { return 0, nil }

// beforeStore sets what runs at the start of each Store.
func (in *inbox) beforeStore(f func(ctx context.Context, eventID string) error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.before = f
}

// payloads are copies of what is stored.
func (in *inbox) payloads() map[string]json.RawMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.stored)
}

// events are what the stored payloads mean, those that concern nobody left out.
func (in *inbox) events(t *testing.T, c *slack.Channel) []bot.Event {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	var events []bot.Event
	for _, id := range in.order {
		ev, ok, err := c.Decode(in.stored[id])
		if err != nil {
			t.Errorf("decode %s: %v", id, err)
		}
		if ok {
			events = append(events, ev)
		}
	}
	return events
}

// wait waits until n events concern somebody.
func (in *inbox) wait(t *testing.T, c *slack.Channel, n int) []bot.Event {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		if events := in.events(t, c); len(events) >= n {
			return events
		}
		select {
		case <-in.grew:
		case <-deadline:
			t.Fatalf("%d events did not arrive", n)
		}
	}
}

// setup is a channel against a fake Slack.
type setup struct {
	*slack.Channel
	fake  *slackfake.Server
	inbox *inbox
	logs  *buffer
	url   string // where Slack calls, of one that is called
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

// connected is a setup whose channel runs until the end of the test.
func connected(t *testing.T, opts slackfake.Options) *setup {
	t.Helper()
	s := idle(t, opts)
	s.run(t)
	return s
}

// called is a setup whose channel Slack calls by HTTP.
func called(t *testing.T, opts slackfake.Options) *setup {
	t.Helper()
	s := idle(t, opts)
	app := s.fake.App(0)
	c, err := slack.New(slack.Config{
		BotToken: app.BotToken, Events: true, SigningSecret: app.SigningSecret, APIURL: s.fake.APIURL(),
		Logger: slog.New(slog.NewTextHandler(s.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Channel = c
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.ServeWebhook(w, r, s.inbox) }))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.fake.CallAt(0, server.URL)
	return s
}

// idle is a setup whose channel does not run.
func idle(t *testing.T, opts slackfake.Options) *setup {
	t.Helper()
	s := &setup{fake: slackfake.New(t, opts), inbox: newInbox(), logs: &buffer{}}
	s.Channel = s.open(t, s.fake.App(0))
	return s
}

func (s *setup) open(t *testing.T, app slackfake.App) *slack.Channel {
	t.Helper()
	c, err := slack.New(slack.Config{
		BotToken: app.BotToken, AppToken: app.AppToken, APIURL: s.fake.APIURL(),
		Logger: slog.New(slog.NewTextHandler(s.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *setup) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, s.inbox) }()
	t.Cleanup(func() {
		cancel()
		if err := end(t, ended); err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	s.fake.WaitSockets(0, 1)
}

// end is what Run returned, which must come soon.
func end(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Error("Run did not end")
		return nil
	}
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

func mustSend(t *testing.T, c *slack.Channel, to bot.Recipient, card bot.Card) bot.MessageRef {
	t.Helper()
	ref, err := c.Send(t.Context(), to, card)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	return ref
}
