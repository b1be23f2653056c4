package slack_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

func TestTapIsStoredBeforeItIsAcknowledged(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())

	var early []slackfake.Delivery
	s.inbox.beforeStore(func(_ context.Context, id string) error {
		if strings.HasPrefix(id, "action:") {
			early = slices.DeleteFunc(s.fake.Deliveries(), func(d slackfake.Delivery) bool { return d.Type != slackfake.Interactive })
		}
		return nil
	})
	ann.Click("Approve once").Acked()

	if len(early) != 1 || !early[0].Acked.IsZero() {
		t.Errorf("while the tap was being stored its envelopes were %+v; want one, not acknowledged", early)
	}
	want := bot.Event{
		Kind: bot.Tap, Identity: ann.Identity(), Name: "ann", Direct: true, Token: "tok-approve", Message: ref,
	}
	got := s.inbox.wait(t, s.Channel, 1)
	if diff := cmp.Diff([]bot.Event{want}, got, cmpopts.IgnoreFields(bot.Event{}, "Reply")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventThatIsNotStoredIsSentAgain(t *testing.T) {
	s := idle(t, slackfake.Options{AckTimeout: 300 * time.Millisecond, RetryDelays: []time.Duration{0}})
	s.fake.AllowUnacked()
	var once sync.Once
	s.inbox.beforeStore(func(context.Context, string) (err error) {
		once.Do(func() { err = errors.New("the database is down") })
		return err
	})
	s.run(t)
	sent := s.fake.Person("ann").DM("help")
	sent.Acked()
	d := sent.Deliveries()
	if len(d) != 2 || !d[0].Acked.IsZero() || d[1].Attempt != 1 || d[1].EventID != d[0].EventID {
		t.Errorf("deliveries %+v; want the first not acknowledged and a second one", d)
	}
}

func TestTapThatIsNotStoredShowsAsFailed(t *testing.T) {
	s := idle(t, slackfake.Options{AckTimeout: 300 * time.Millisecond})
	s.fake.AllowUnacked()
	// Nothing is stored: the bot's own message comes back as an event, and one that
	// is stored ends the problem.
	s.inbox.beforeStore(func(context.Context, string) error { return errors.New("the database is down") })
	s.run(t)
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	if why := ann.Click("Reject").Failed(); why != "no acknowledgement in time" {
		t.Errorf("the click failed by %q", why)
	}
	// The person may hear of it before the adapter has noted it: no signal tells.
	h := s.Health()
	for deadline := time.Now().Add(time.Minute); h.Error == "" && time.Now().Before(deadline); h = s.Health() {
		time.Sleep(time.Millisecond)
	}
	if h.Error != "an event could not be stored" || !h.Connected {
		t.Errorf("health %+v", h)
	}
}

func TestRepeatedEnvelopeIsOneEvent(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	for _, sent := range []*slackfake.Sent{ann.DM("help"), ann.Click("Reject"), ann.Slash("pending")} {
		sent.Acked()
		sent.Again()
	}
	if events := s.inbox.events(t, s.Channel); len(events) != 3 {
		t.Errorf("%d events from three, each delivered twice", len(events))
	}
}

func TestTwoPressesAreTwoEvents(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	first, second := ann.DoubleClick("Reject")
	first.Acked()
	second.Acked()
	s.inbox.wait(t, s.Channel, 2)
}

// gate holds every store back until open is called.
func gate(s *setup) (entered chan string, open func()) {
	entered, release := make(chan string, 100), make(chan struct{})
	s.inbox.beforeStore(func(ctx context.Context, id string) error {
		entered <- id
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return entered, sync.OnceFunc(func() { close(release) })
}

func TestSocketReplacedBetweenTapAndAcknowledgement(t *testing.T) {
	s := connected(t, slackfake.Options{RetryDelays: []time.Duration{0, 0, 0}})
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	entered, open := gate(s)
	defer open()

	said, tapped := ann.DM("help"), ann.Click("Reject")
	for id := range entered {
		if strings.HasPrefix(id, "action:") {
			break
		}
	}
	s.fake.Disconnect(0, "refresh_requested")
	if why := tapped.Failed(); why != "the socket closed" {
		t.Errorf("the click failed by %q", why)
	}
	s.fake.WaitSockets(0, 1) // the next socket does not wait for the stores
	open()
	said.Acked()
	if d := said.Deliveries(); len(d) < 2 || !d[0].Acked.IsZero() {
		t.Errorf("deliveries %+v; want the first not acknowledged and a second one", d)
	}
	events := s.inbox.wait(t, s.Channel, 2)
	if len(events) != 2 {
		t.Errorf("%d events; want the words and the tap, each once", len(events))
	}
}

func TestSocketIsReplaced(t *testing.T) {
	for name, end := range map[string]func(*slackfake.Server){
		"refresh":    func(f *slackfake.Server) { f.Disconnect(0, "refresh_requested") },
		"warning":    func(f *slackfake.Server) { f.Disconnect(0, "warning") },
		"too many":   func(f *slackfake.Server) { f.Disconnect(0, "too_many_websockets") },
		"bare close": func(f *slackfake.Server) { f.HangUp(0) },
		"half open":  func(f *slackfake.Server) { f.GoSilent(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := idle(t, slackfake.Options{PingInterval: 100 * time.Millisecond, RetryDelays: []time.Duration{0, 0, 0}})
			s.SetPingLimit(time.Second)
			s.run(t)
			end(s.fake)
			s.fake.WaitCalls("apps.connections.open", 2)
			s.fake.WaitSockets(0, 1)
			s.fake.Person("ann").DM("help").Acked()
			if n := s.fake.Sockets(0); n != 1 {
				t.Errorf("%d sockets are open", n)
			}
		})
	}
}

func TestEventsWaitForTheSocket(t *testing.T) {
	s := idle(t, slackfake.Options{})
	said := s.fake.Person("ann").DM("help")
	s.run(t)
	said.Acked()
	s.inbox.wait(t, s.Channel, 1)
}

func TestRunOutlastsFailures(t *testing.T) {
	s := idle(t, slackfake.Options{})
	s.fake.Inject(slackfake.Fault{Method: "auth.test", Status: 503, HTML: "<html>down</html>"})
	s.fake.Inject(slackfake.Fault{Method: "auth.test", Drop: true})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Status: 404})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", Code: "internal_error"})
	s.run(t)
	s.fake.Person("ann").DM("help").Acked()
	h := s.Health()
	if !h.Connected || h.Error != "" || h.Account != "holm" || h.LastEvent.IsZero() {
		t.Errorf("health %+v", h)
	}
}

func TestRunObeysARateLimit(t *testing.T) {
	s := idle(t, slackfake.Options{})
	s.fake.Inject(slackfake.Fault{Method: "apps.connections.open", RetryAfter: 2 * time.Second})
	s.run(t)
	calls := s.fake.Calls("apps.connections.open")
	if wait := calls[1].Time.Sub(calls[0].Time); wait < 2*time.Second {
		t.Errorf("came again after %s", wait)
	}
}

func TestRefusedTokensEndRun(t *testing.T) {
	tests := map[string]func(*slackfake.Server){
		"revoked bot token": func(f *slackfake.Server) { f.RevokeBotToken(0) },
		"revoked app token": func(f *slackfake.Server) { f.RevokeAppToken(0) },
		"account gone":      func(f *slackfake.Server) { f.Inject(slackfake.Fault{Method: "auth.test", Code: "account_inactive"}) },
		"app token of no scope": func(f *slackfake.Server) {
			f.Inject(slackfake.Fault{Method: "apps.connections.open", Code: "missing_scope"})
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			s := idle(t, slackfake.Options{})
			spoil(s.fake)
			err := s.Run(t.Context(), s.inbox)
			if !errors.Is(err, bot.ErrSetup) {
				t.Fatalf("Run ended with %v", err)
			}
			if h := s.Health(); h.Connected || h.Error == "" {
				t.Errorf("health %+v", h)
			}
		})
	}
}

func TestRevocationIsNoticedOnTheNextSocket(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- s.Run(ctx, s.inbox) }()
	s.fake.WaitSockets(0, 1)
	s.fake.RevokeBotToken(0)
	s.fake.HangUp(0)
	if err := end(t, ended); !errors.Is(err, bot.ErrSetup) {
		t.Errorf("Run ended with %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := idle(t, slackfake.Options{})
	entered, open := gate(s)
	defer open()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, s.inbox) }()
	s.fake.Person("ann").DM("help") // its store is under way when the end comes
	<-entered
	cancel()
	if err := end(t, ended); err != nil {
		t.Errorf("Run ended with %v", err)
	}
	s.fake.WaitSockets(0, 0)
	if s.Health().Connected {
		t.Error("still connected")
	}
}

func TestUnreadableEnvelopeIsStoredAndAcknowledged(t *testing.T) {
	s := connected(t, slackfake.Options{})
	for _, kind := range []string{slackfake.EventsAPI, slackfake.Interactive, slackfake.SlashCommands, "not_invented_yet"} {
		s.fake.Deliver(0, kind, "x", []byte(`{"type": 7, "event": "?", "user": [], "team_id": {}}`)).Acked()
	}
	if n := len(s.inbox.payloads()); n != 4 {
		t.Errorf("%d payloads stored", n)
	}
}

// What one person sends is stored in the order in which it came, however long one
// store takes; nobody else waits.
func TestOnePersonsEventsAreStoredInTheirOrder(t *testing.T) {
	s := connected(t, slackfake.Options{})
	ann, bob := s.fake.Person("ann"), s.fake.Person("bob")
	began, bobs := make(chan struct{}), make(chan struct{})
	var stores atomic.Int32
	s.inbox.beforeStore(func(ctx context.Context, _ string) error {
		if stores.Add(1) == 1 { // ann's first
			close(began)
			select {
			case <-bobs:
			case <-ctx.Done():
			}
		}
		return nil
	})
	sent := []*slackfake.Sent{ann.DM("one")}
	<-began
	sent = append(sent, ann.DM("two"))
	bob.DM("three").Acked()
	close(bobs)
	for _, m := range sent {
		m.Acked()
	}
	var texts []string
	for _, ev := range s.inbox.wait(t, s.Channel, 3) {
		if ev.Text != "three" { // bob's, which has waited for none of ann's
			texts = append(texts, ev.Text)
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, texts); diff != "" {
		t.Error(diff)
	}
}
