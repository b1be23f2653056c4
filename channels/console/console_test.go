package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"holm/approvals"
	"holm/bot"
	"holm/channels/console"
	"holm/policy"
)

// inbox keeps events in memory and decodes them with the channel.
type inbox struct {
	t      *testing.T
	ch     *console.Channel
	events chan bot.Event

	mu   sync.Mutex
	ids  map[string]bool
	fail int // how many calls are refused
}

func (i *inbox) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	for _, e := range events {
		if err := i.keep(ctx, namespace, e.ID, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (i *inbox) keep(_ context.Context, namespace, id string, payload json.RawMessage) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fail > 0 {
		i.fail--
		return errors.New("no database")
	}
	if namespace != "console" || id == "" || i.ids[id] {
		i.t.Errorf("event %s %q", namespace, id)
	}
	i.ids[id] = true
	ev, ok, err := i.ch.Decode(payload)
	if err != nil || !ok || ev.Identity != "you" || !ev.Direct {
		i.t.Errorf("decoded %+v, %v, %v", ev, ok, err)
	}
	i.events <- ev
	return nil
}

func (i *inbox) LastID(context.Context, string) (int64, error) { return 0, nil }

// screen is what is printed.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// terminal is a running channel with a person who types.
type terminal struct {
	*inbox
	t      *testing.T
	screen *screen
	keys   io.WriteCloser
}

func newTerminal(t *testing.T, auto bool) *terminal {
	t.Helper()
	in, keys := io.Pipe()
	out := &screen{}
	ch, err := console.New(console.Config{In: in, Out: out, Auto: auto})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{
		t: t, screen: out, keys: keys,
		inbox: &inbox{t: t, ch: ch, events: make(chan bot.Event, 100), ids: map[string]bool{}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- ch.Run(ctx, term.inbox) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		_ = keys.Close()
	})
	return term
}

func (term *terminal) types(text string) {
	term.t.Helper()
	if _, err := io.WriteString(term.keys, text); err != nil {
		term.t.Fatal(err)
	}
}

func (term *terminal) next() bot.Event {
	term.t.Helper()
	select {
	case ev := <-term.events:
		return ev
	case <-time.After(10 * time.Second):
		term.t.Fatal("no event came")
		return bot.Event{}
	}
}

func (term *terminal) send(c bot.Card) bot.MessageRef {
	term.t.Helper()
	ref, err := term.ch.Send(context.Background(), bot.Recipient{Identity: "you"}, c)
	if err != nil {
		term.t.Fatal(err)
	}
	return ref
}

// card is a real one of request n.
func card(n int) bot.Card {
	return bot.Render(approvals.Request{
		ShortID: n, AgentID: "main", RequesterName: "Alice", ResourceType: "tool", ResourceKey: "mail__send",
		ArgsBytes: []byte(`{"to":"bob","text":"one\ntwo\u001b[2J"}`), ArgsDigest: "9c41ab1200", RuleText: "mail asks",
		Status: approvals.Pending, TTLMinutes: 60, ExpiresAt: time.Date(2026, 3, 4, 13, 0, 0, 0, time.UTC),
		Settings: approvals.Settings{Resolutions: []policy.Resolution{policy.Single, policy.Once, policy.Persistent}},
	}, bot.Surface{
		Limits: bot.Limits{Value: 100, Total: 4000, ButtonRow: 3}, Files: true,
		Token: func(a approvals.Action) string { return fmt.Sprintf("%d-%d", n, a) },
	})
}

func TestCardIsPrintedPlainly(t *testing.T) {
	term := newTerminal(t, false)
	term.send(card(1))
	want := `
🔐 send on mail · to bob · … · #1
  From: Alice via agent main
  Tool: mail__send
  Why: mail asks
  Open until: 2026-03-04 13:00 UTC
    to: bob
    text: one
      │ twoU+001B[2J
`
	if got := term.screen.String(); !strings.HasPrefix(got, want) || strings.Contains(got, "\x1b") {
		t.Errorf("printed:\n%s", got)
	}
	keys := "[a] Approve this call  [o] Approve for 60 min  [r] Reject  [m] More…  [d] Details\n"
	if got := term.screen.String(); !strings.HasSuffix(got, keys) {
		t.Errorf("printed:\n%s", got)
	}
}

func TestKeysPressTheButtonsOfTheNewestCard(t *testing.T) {
	term := newTerminal(t, false)
	term.send(card(1))
	newest := term.send(card(2))
	for key, action := range map[string]approvals.Action{
		"a": approvals.ApproveCall, "o": approvals.ApproveForTime, "m": approvals.More, "r": approvals.Reject, "d": approvals.ShowDetails,
	} {
		term.types(" " + key + " \n")
		if ev := term.next(); ev.Kind != bot.Tap || ev.Token != fmt.Sprintf("2-%d", action) {
			t.Errorf("key %s gave %+v", key, ev)
		}
	}
	if err := term.ch.Update(context.Background(), newest, bot.Card{Head: "✅ Approved · #2", Notes: []string{"Approved by You"}}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(term.screen.String(), "✅ Approved · #2 · Approved by You\n") {
		t.Errorf("printed %q", term.screen.String())
	}
	term.types("a\n")
	if ev := term.next(); ev.Token != "1-1" {
		t.Errorf("after the newest was closed the key gave %+v", ev)
	}
}

// What is typed beside a card decides what it says, or nothing.
func TestARejectionTakesItsReasonAlong(t *testing.T) {
	term := newTerminal(t, false)
	term.send(card(1))
	term.types("R  too expensive \n")
	if ev := term.next(); ev.Kind != bot.Tap || ev.Token != fmt.Sprintf("1-%d", approvals.Reject) || ev.Text != "too expensive" {
		t.Errorf("gave %+v", ev)
	}
	term.types("a nice day\nx\nhelp\n")
	if ev := term.next(); ev.Kind != bot.Text || ev.Text != "help" {
		t.Errorf("after what decides nothing: %+v", ev)
	}
	for _, want := range []string{"Nothing is decided: send the letter alone", "“x” is no button of the open card, and nothing is decided. Its letters: [a] Approve"} {
		if !strings.Contains(term.screen.String(), want) {
			t.Errorf("%q is not told: %s", want, term.screen.String())
		}
	}
}

func TestLinesAreTexts(t *testing.T) {
	term := newTerminal(t, false)
	term.types("\n\na\napprove 3\n") // the lone key has no card to press on
	if ev := term.next(); ev.Kind != bot.Text || ev.Text != "approve 3" {
		t.Errorf("the line gave %+v", ev)
	}
	if !strings.Contains(term.screen.String(), "no open card with that button") {
		t.Errorf("printed %q", term.screen.String())
	}
}

func TestAutoApprovesEachCallOnce(t *testing.T) {
	term := newTerminal(t, true)
	term.mu.Lock()
	term.fail = 1 // the first try finds no database
	term.mu.Unlock()
	term.send(card(1))
	term.send(card(2))
	for _, want := range []string{"1-1", "2-1"} {
		if ev := term.next(); ev.Kind != bot.Tap || ev.Token != want {
			t.Errorf("auto gave %+v, want %s", ev, want)
		}
	}
	term.send(bot.Card{Head: "a message"})
	if len(term.events) != 0 {
		t.Error("auto pressed something more")
	}
}

func TestTheEndOfTheInputLeavesADisplay(t *testing.T) {
	term := newTerminal(t, true)
	if err := term.keys.Close(); err != nil {
		t.Fatal(err)
	}
	term.send(card(1))
	if ev := term.next(); ev.Token != "1-1" {
		t.Errorf("auto gave %+v", ev)
	}
	if err := term.ch.Answer(context.Background(), bot.Event{}, "Approved\nonce"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(term.screen.String(), "» Approved↵once\n") {
		t.Errorf("printed %q", term.screen.String())
	}
}

func TestOthersAreNotAtThisTerminal(t *testing.T) {
	term := newTerminal(t, false)
	if _, err := term.ch.Send(context.Background(), bot.Recipient{Identity: "bob"}, card(1)); !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("send to bob: %v", err)
	}
	if err := term.ch.Update(context.Background(), bot.MessageRef{Chat: "c", Message: "1"}, card(1)); !errors.Is(err, bot.ErrGone) {
		t.Errorf("update elsewhere: %v", err)
	}
	if term.screen.String() != "" {
		t.Errorf("printed %q", term.screen.String())
	}
}
