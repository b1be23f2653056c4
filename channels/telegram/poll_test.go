package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holm/bot"
	"holm/channels/telegram"
	"holm/internal/testkit/telegramfake"
)

func TestTapIsStoredBeforeItIsConfirmed(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitPoll()
	tap := s.owner.Click(s.send(card()), "Approve")
	s.tg.WaitConfirmed(tap.UpdateID)

	if stored, confirmed := s.inbox.storedAt(tap.UpdateID), s.tg.Confirmed(tap.UpdateID); stored.IsZero() || !stored.Before(confirmed) {
		t.Fatalf("stored at %v, confirmed at %v", stored, confirmed)
	}
	ev := s.decode(tap.UpdateID)
	if ev.Token != "tok-approve" || ev.Identity != id(s.owner) {
		t.Fatalf("decoded %+v", ev)
	}
	if err := s.channel.Answer(t.Context(), ev, "Approved"); err != nil {
		t.Fatal(err)
	}
	if a := s.tg.WaitAnswer(tap); a.Text != "Approved" || a.Alert {
		t.Errorf("the person saw %+v", a)
	}
	if h := s.channel.Health(); !h.Connected || h.Error != "" || h.Account != "@"+s.tg.Username() || h.LastEvent.IsZero() {
		t.Errorf("health %+v", h)
	}
}

func TestTapsMadeWhileNobodyListenedAreDelivered(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnanswered: true})
	m := s.send(card())
	tap, said := s.owner.Click(m, "Reject"), s.owner.Say("hello?")
	s.run(s.channel)
	s.tg.WaitConfirmed(said.UpdateID)
	if ev := s.decode(tap.UpdateID); ev.Token != "tok-reject" {
		t.Errorf("decoded %+v", ev)
	}
}

func TestCrashBetweenStoreAndConfirm(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	cut := s.tg.Inject(telegramfake.Fault{Method: "getUpdates", After: 1, Drop: true, Times: -1})
	stop := s.run(s.channel) // will store, then fail to confirm
	said := s.owner.Say("once")
	s.inbox.wait(t, func() bool { rows, _ := s.inbox.count(said.UpdateID); return rows == 1 })
	cut.Wait(1)
	stop()
	if !s.tg.Confirmed(said.UpdateID).IsZero() {
		t.Fatal("confirmed although every later poll was cut")
	}
	s.tg.LiftAll()

	s.run(s.connect(telegram.Config{}))
	s.tg.WaitConfirmed(said.UpdateID)
	if rows, repeats := s.inbox.count(said.UpdateID); rows != 1 || repeats != 0 {
		t.Errorf("%d rows, %d repeats: the stored id should have been confirmed, not asked for again", rows, repeats)
	}
}

func TestAnswerLostOnTheWayIsAskedForAgain(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	lost := s.tg.Inject(telegramfake.Fault{Method: "getUpdates", Truncate: true, PerformFirst: true})
	s.run(s.channel)
	said := s.owner.Say("twice on the wire")
	lost.Wait(1)
	s.tg.WaitConfirmed(said.UpdateID)
	if rows, _ := s.inbox.count(said.UpdateID); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func TestRedeliveredUpdateIsStoredOnce(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	first := s.owner.Say("first")
	s.tg.WaitConfirmed(first.UpdateID)
	s.tg.Redeliver(first.UpdateID)
	s.inbox.wait(t, func() bool { _, repeats := s.inbox.count(first.UpdateID); return repeats == 1 })
	next := s.owner.Say("next")
	s.tg.WaitConfirmed(next.UpdateID)
	if rows, _ := s.inbox.count(first.UpdateID); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func TestFailedStoreConfirmsNothing(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	first, second := s.owner.Say("one"), s.owner.Say("two")
	down := make(chan struct{})
	var once sync.Once
	s.inbox.failWith(func(eventID string) error {
		if eventID == fmt.Sprint(second.UpdateID) {
			once.Do(func() { close(down) })
			return errors.New("database is down")
		}
		return nil
	})
	s.run(s.channel)
	<-down
	again := s.tg.Calls("getUpdates")[0].Params["offset"]
	s.tg.WaitCall("getUpdates", func() func(telegramfake.Call) bool {
		polls := 0
		return func(c telegramfake.Call) bool { polls++; return polls > 2 && c.Params["offset"] == again }
	}())
	if !s.tg.Confirmed(first.UpdateID).IsZero() {
		t.Error("the first half of a batch was confirmed")
	}
	if h := s.channel.Health(); h.Error == "" {
		t.Errorf("health hides the failure: %+v", h)
	}
	s.inbox.failWith(nil)
	s.tg.WaitConfirmed(second.UpdateID)
	if rows, _ := s.inbox.count(first.UpdateID); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func TestSecondPollerIsOutwaited(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	clash := s.tg.Inject(telegramfake.Fault{
		Method: "getUpdates", Times: -1, Code: 409,
		Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
	})
	s.run(s.channel)
	clash.Wait(8)
	if h := s.channel.Health(); h.Connected || !strings.Contains(h.Error, "409") {
		t.Errorf("health %+v", h)
	}
	clash.Lift()
	said := s.owner.Say("still there?")
	s.tg.WaitConfirmed(said.UpdateID)
	if h := s.channel.Health(); !h.Connected || h.Error != "" {
		t.Errorf("health after recovery %+v", h)
	}
}

func TestForeignWebhookIsNeitherStolenNorFatal(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitPoll()
	s.tg.SetWebhook("https://example.org/hook")
	s.tg.WaitCall("getUpdates", func(c telegramfake.Call) bool { return c.Done && c.Code == 409 })
	if n := len(s.tg.Calls("deleteWebhook")); n != 0 {
		t.Errorf("deleteWebhook was called %d times", n)
	}
	s.tg.SetWebhook("")
	s.tg.WaitConfirmed(s.owner.Say("hi").UpdateID)
}

// The lock is given back at a conflict: whoever really holds it may go on.
func TestOnlyTheHolderOfTheLockPolls(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	turn := make(chan struct{}, 1)
	lock := func(ctx context.Context) (func(), error) {
		select {
		case turn <- struct{}{}:
			return func() { <-turn }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	one, two := s.connect(telegram.Config{Lock: lock}), s.connect(telegram.Config{Lock: lock})
	stopOne := s.run(one)
	s.tg.WaitPoll()
	s.run(two)
	s.tg.WaitConfirmed(s.owner.Say("to the first").UpdateID)
	stopOne()
	s.tg.WaitConfirmed(s.owner.Say("to the second").UpdateID)
	for _, c := range s.tg.Calls("getUpdates") {
		if c.Code == 409 {
			t.Error("two polled at once")
		}
	}
}

func TestLockIsTakenAnewAfterAConflict(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "getUpdates", Code: 409, Description: "Conflict: terminated by other getUpdates request"})
	var taken, released atomic.Int32
	lock := func(context.Context) (func(), error) {
		if taken.Add(1) == 2 {
			return nil, errors.New("database is away")
		}
		return func() { released.Add(1) }, nil
	}
	stop := s.run(s.connect(telegram.Config{Lock: lock}))
	s.tg.WaitConfirmed(s.owner.Say("hi").UpdateID)
	stop()
	if taken.Load() != 3 || released.Load() != 2 {
		t.Errorf("the lock was asked for %d times and released %d times", taken.Load(), released.Load())
	}
}

func TestRateLimitOfPollingIsObeyed(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "getUpdates", Code: 429, RetryAfter: 1, Description: "Too Many Requests: retry after 1"})
	s.run(s.channel)
	s.tg.WaitConfirmed(s.owner.Say("patience").UpdateID)
	polls := s.tg.Calls("getUpdates")
	if gap := polls[1].At.Sub(polls[0].At); gap < time.Second {
		t.Errorf("asked again after %v", gap)
	}
}

func TestBrokenProxyIsOutwaited(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "getMe", HTML: true})
	s.tg.Inject(telegramfake.Fault{Method: "getUpdates", HTML: true, Times: 3})
	s.run(s.channel)
	s.tg.WaitConfirmed(s.owner.Say("through").UpdateID)
}

func TestRefusedTokenEndsRunWithASetupError(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.RevokeToken()
	err := s.channel.Run(t.Context(), s.inbox)
	if !errors.Is(err, bot.ErrSetup) {
		t.Fatalf("got %v", err)
	}
	if h := s.channel.Health(); h.Error == "" {
		t.Errorf("health %+v", h)
	}
}

func TestNumberingThatStartsAnewLowerIsFollowed(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitConfirmed(s.owner.Say("before").UpdateID)
	s.tg.SkipIDs(-1_000_000)
	first := s.owner.Say("after a quiet week")
	s.tg.WaitConfirmed(first.UpdateID)
	second := s.owner.Say("and on")
	s.tg.WaitConfirmed(second.UpdateID)
	if rows, _ := s.inbox.count(second.UpdateID); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func TestShutdownIsPrompt(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	stop := s.run(s.channel)
	s.tg.WaitPoll()
	stop() // fails the test when it takes more than 5 of the poll's 50 seconds

	// Nothing is lost that comes while the process is down or in its last poll.
	said := s.owner.Say("good night")
	s.run(s.connect(telegram.Config{}))
	s.tg.WaitConfirmed(said.UpdateID)
	if rows, _ := s.inbox.count(said.UpdateID); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func TestTokenNeverShows(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	secret := s.tg.Token()[strings.Index(s.tg.Token(), ":")+1:]
	m := s.send(card())
	check := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, errors.Unwrap(err)); strings.Contains(text, secret) {
			t.Errorf("%s shows the token: %s", what, text)
		}
	}
	s.tg.Inject(telegramfake.Fault{Method: "sendMessage", Drop: true})
	_, err := s.channel.Send(t.Context(), s.to(), card())
	check("dropped connection", err)
	s.tg.Inject(telegramfake.Fault{Method: "sendMessage", Code: 400, Description: "Bad Request: /bot" + s.tg.Token() + "/sendMessage"})
	_, err = s.channel.Send(t.Context(), s.to(), card())
	check("echo in an answer", err)
	s.tg.Inject(telegramfake.Fault{Method: "editMessageText", HTML: true})
	check("HTML page", s.channel.Update(t.Context(), s.ref(m), bot.Card{Head: "done"}))
	s.tg.RevokeToken()
	check("refused token", s.channel.Run(t.Context(), s.inbox))

	unreachable, err := telegram.New(telegram.Config{Token: s.tg.Token(), APIURL: "http://127.0.0.1:1", HTTPClient: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = unreachable.Send(t.Context(), s.to(), card())
	check("refused connection", err)
	_, err = telegram.New(telegram.Config{Token: "no token " + secret})
	check("malformed token", err)
	if logs := s.logs.String(); strings.Contains(logs, secret) {
		t.Errorf("logs show the token:\n%s", logs)
	}
}

func TestServerThatNeverHoldsIsNotHammered(t *testing.T) {
	polls := make(chan time.Time)
	hasty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `{"ok":true,"result":{"id":1,"is_bot":true,"username":"b_bot"}}`
		if strings.HasSuffix(r.URL.Path, "/getUpdates") {
			answer = `{"ok":true,"result":[]}`
			select {
			case polls <- time.Now():
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, answer) //nolint:errcheck // the client may be gone
	}))
	defer hasty.Close()
	defer hasty.CloseClientConnections()
	s := newSetup(t, telegramfake.Options{})
	ch, err := telegram.New(telegram.Config{Token: "1:abc", APIURL: hasty.URL})
	if err != nil {
		t.Fatal(err)
	}
	stop := s.run(ch)
	defer stop()
	first := <-polls
	for range 29 {
		<-polls
	}
	if took := time.Since(first); took < 400*time.Millisecond {
		t.Errorf("30 polls in %v", took)
	}
}

// The address of a call holds the token: it must not be carried elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer moved.Close()
	ch, err := telegram.New(telegram.Config{Token: "1:abc", APIURL: moved.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), bot.Recipient{Identity: "5"}, card()); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("got %v", err)
	}
}

func TestUnusableSettings(t *testing.T) {
	for name, c := range map[string]telegram.Config{
		"no token":       {},
		"half a token":   {Token: "123"},
		"path in token":  {Token: "1:abc/../x"},
		"no host":        {Token: "1:abc", APIURL: "localhost"},
		"another scheme": {Token: "1:abc", APIURL: "ftp://x"},
	} {
		if _, err := telegram.New(c); !errors.Is(err, bot.ErrSetup) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
