package telegram_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holm/bot"
	"holm/channels/telegram"
	"holm/internal/testkit/telegramfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup is a channel under test, its fake platform and one person who has
// pressed Start.
type setup struct {
	t       *testing.T
	tg      *telegramfake.Server
	channel *telegram.Channel
	inbox   *inbox
	owner   *telegramfake.Person
	logs    *syncBuffer
}

func newSetup(t *testing.T, o telegramfake.Options) *setup {
	t.Helper()
	s := &setup{t: t, tg: telegramfake.New(t, o), inbox: newInbox(), logs: &syncBuffer{}}
	s.channel = s.connect(telegram.Config{})
	s.owner = s.tg.Person("Ada").Open()
	return s
}

// connect makes a further channel to the same fake.
func (s *setup) connect(c telegram.Config) *telegram.Channel {
	s.t.Helper()
	c.Token, c.APIURL = s.tg.Token(), s.tg.URL()
	c.Logger = slog.New(slog.NewTextHandler(s.logs, nil))
	ch, err := telegram.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	ch.HurryUp()
	return ch
}

// run starts Run and returns a stop that waits for it and checks its result.
func (s *setup) run(ch *telegram.Channel) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ch.Run(ctx, s.inbox) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				s.t.Errorf("Run ended with %v", err)
			}
		case <-time.After(5 * time.Second):
			s.t.Error("Run did not end with its context")
		}
	})
	s.t.Cleanup(stop)
	return stop
}

func (s *setup) to() bot.Recipient { return bot.Recipient{Identity: id(s.owner)} }

func (s *setup) send(c bot.Card) telegramfake.Message {
	s.t.Helper()
	ref, err := s.channel.Send(s.t.Context(), s.to(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.message(ref)
}

func (s *setup) message(ref bot.MessageRef) telegramfake.Message {
	s.t.Helper()
	return s.tg.WaitMessage(s.owner.ID, func(m telegramfake.Message) bool {
		return strconv.FormatInt(m.ID, 10) == ref.Message
	})
}

func (s *setup) ref(m telegramfake.Message) bot.MessageRef {
	return bot.MessageRef{Chat: strconv.FormatInt(m.Chat, 10), Message: strconv.FormatInt(m.ID, 10)}
}

// decode reads the stored update of this id.
func (s *setup) decode(updateID int64) bot.Event {
	s.t.Helper()
	ev, ok, err := s.channel.Decode(s.inbox.payload(updateID))
	if err != nil || !ok {
		s.t.Fatalf("Decode: ok %v, error %v", ok, err)
	}
	return ev
}

func id(p *telegramfake.Person) string { return strconv.FormatInt(p.ID, 10) }

func card() bot.Card {
	return bot.Card{
		Head:  "Approval needed · risk: high",
		Facts: []bot.Fact{{Label: "From", Value: "deploy-bot"}, {Label: "Tool", Value: "shell/run", Code: true}},
		Args:  []bot.Arg{{Name: "command", Value: "rm -rf <dir> && echo \"done\""}},
		Notes: []string{"Approving runs the waiting call at once."},
		Buttons: [][]bot.Button{
			{{Label: "Approve", Token: "tok-approve", Style: bot.Primary}, {Label: "Reject", Token: "tok-reject", Style: bot.Danger}},
			{{Label: "Details", Token: "tok-details"}},
		},
	}
}

// inbox keeps updates as the real one does, and fails when told to.
type inbox struct {
	mu      sync.Mutex
	rows    map[string]json.RawMessage
	stored  map[string]time.Time
	repeats map[string]int
	fail    func(eventID string) error
	changed chan struct{}
}

func newInbox() *inbox {
	return &inbox{
		rows: map[string]json.RawMessage{}, stored: map[string]time.Time{}, repeats: map[string]int{},
		changed: make(chan struct{}),
	}
}

func (in *inbox) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, e := range events { // all or none
		if namespace != "telegram" || !json.Valid(e.Payload) {
			return errors.New("not an update of telegram")
		}
		if in.fail == nil {
			continue
		}
		if err := in.fail(e.ID); err != nil {
			return err
		}
	}
	for _, e := range events {
		if _, known := in.rows[e.ID]; known {
			in.repeats[e.ID]++
		} else {
			in.rows[e.ID], in.stored[e.ID] = e.Payload, time.Now()
		}
	}
	close(in.changed)
	in.changed = make(chan struct{})
	return nil
}

func (in *inbox) LastID(context.Context, string) (int64, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	var last int64
	for key := range in.rows {
		n, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return 0, err
		}
		last = max(last, n)
	}
	return last, nil
}

func (in *inbox) failWith(fail func(eventID string) error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.fail = fail
}

func (in *inbox) payload(updateID int64) json.RawMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.rows[strconv.FormatInt(updateID, 10)]
}

// inOrder gives all updates by their ids.
func (in *inbox) inOrder(t *testing.T) []json.RawMessage {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(in.rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	var all []json.RawMessage
	for _, key := range keys {
		all = append(all, in.rows[key])
	}
	return all
}

func (in *inbox) count(updateID int64) (rows, repeats int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	key := strconv.FormatInt(updateID, 10)
	if _, ok := in.rows[key]; ok {
		rows = 1
	}
	return rows, in.repeats[key]
}

func (in *inbox) storedAt(updateID int64) time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stored[strconv.FormatInt(updateID, 10)]
}

// wait blocks until look, tried after each Store, is true.
func (in *inbox) wait(t *testing.T, look func() bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		in.mu.Lock()
		changed := in.changed
		in.mu.Unlock()
		if look() {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatal("the inbox did not get what was waited for")
		}
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
