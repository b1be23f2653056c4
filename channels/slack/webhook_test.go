package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

func TestSlackCalls(t *testing.T) {
	s := called(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	room := s.fake.Channel(0, "ops", ann)
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	ann.DM("run shop/open note=<b>&").Acked()
	ann.Mention(room, "help").Acked()
	ann.Slash("approve 7").Acked()
	ann.Click("Reject").Acked()
	var got []bot.Event
	for _, ev := range s.inbox.wait(t, s.Channel, 4) {
		got = append(got, bot.Event{Kind: ev.Kind, Identity: ev.Identity, Direct: ev.Direct, Text: ev.Text, Token: ev.Token})
	}
	want := []bot.Event{
		{Kind: bot.Text, Identity: ann.Identity(), Direct: true, Text: "run shop/open note=<b>&"},
		{Kind: bot.Text, Identity: ann.Identity(), Text: "help"},
		{Kind: bot.Text, Identity: ann.Identity(), Direct: true, Text: "approve 7"},
		{Kind: bot.Tap, Identity: ann.Identity(), Direct: true, Token: "tok-reject"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// post calls the channel's address as Slack does, and gives status and body.
func (s *setup) post(t *testing.T, contentType string, body []byte, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestAddressIsVerified(t *testing.T) {
	s := called(t, slackfake.Options{})
	body := []byte(`{"token":"x","challenge":"3eZbrw1aB","type":"url_verification"}`)
	status, answer := s.post(t, "application/json", body, s.fake.Sign(0, time.Now(), body))
	if status != http.StatusOK || answer != "3eZbrw1aB" {
		t.Errorf("%d %q", status, answer)
	}
	check := []byte("ssl_check=1&token=x")
	if status, _ := s.post(t, "application/x-www-form-urlencoded", check, s.fake.Sign(0, time.Now(), check)); status != http.StatusOK {
		t.Errorf("the check of certificates got %d", status)
	}
	if n := len(s.inbox.payloads()); n != 0 {
		t.Errorf("%d payloads were stored", n)
	}
}

func TestOnlySlackMayCall(t *testing.T) {
	s := called(t, slackfake.Options{Apps: []slackfake.App{{}, {Team: "T0OTHER"}}})
	body := []byte(`{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"message"}}`)
	good := s.fake.Sign(0, time.Now(), body)
	without := func(name string) http.Header {
		h := good.Clone()
		h.Del(name)
		return h
	}
	with := func(name, value string) http.Header {
		h := good.Clone()
		h.Set(name, value)
		return h
	}
	signature := good.Get("X-Slack-Signature")
	for name, header := range map[string]http.Header{
		"unsigned":           {},
		"no signature":       without("X-Slack-Signature"),
		"no time":            without("X-Slack-Request-Timestamp"),
		"another time":       with("X-Slack-Request-Timestamp", "1700000000"),
		"odd time":           with("X-Slack-Request-Timestamp", "now"),
		"another signature":  with("X-Slack-Signature", signature[:len(signature)-4]+"0000"),
		"another version":    with("X-Slack-Signature", "v1="+strings.TrimPrefix(signature, "v0=")),
		"half a signature":   with("X-Slack-Signature", signature[:30]),
		"six minutes old":    s.fake.Sign(0, time.Now().Add(-6*time.Minute), body),
		"six minutes ahead":  s.fake.Sign(0, time.Now().Add(6*time.Minute), body),
		"another app's":      s.fake.Sign(1, time.Now(), body),
		"another body's own": s.fake.Sign(0, time.Now(), append(body, ' ')),
	} {
		if status, answer := s.post(t, "application/json", body, header); status != http.StatusUnauthorized || strings.Contains(answer, "v0=") {
			t.Errorf("%s: %d %q", name, status, answer)
		}
	}
	large := bytes.Repeat([]byte("x"), 3<<20)
	if status, _ := s.post(t, "application/json", large, s.fake.Sign(0, time.Now(), large)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("3 MB: %d", status)
	}
	for kind, text := range map[string]string{"application/json": "{oops", "application/x-www-form-urlencoded": "a=1", "application/x-www-form-urlencoded; charset=utf-8": "payload={oops"} {
		if status, _ := s.post(t, kind, []byte(text), s.fake.Sign(0, time.Now(), []byte(text))); status != http.StatusBadRequest {
			t.Errorf("%s: %d", text, status)
		}
	}
	if n := len(s.inbox.payloads()); n != 0 {
		t.Errorf("%d payloads were stored", n)
	}
	if status, _ := s.post(t, "application/json", body, good); status != http.StatusOK {
		t.Errorf("the good one: %d", status)
	}
}

// Fault 34: a signed call that is replayed within its five minutes.
func TestReplayedCallIsOneEvent(t *testing.T) {
	s := called(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	for _, sent := range []*slackfake.Sent{ann.DM("help"), ann.Click("Reject"), ann.Slash("pending")} {
		sent.Acked()
		sent.Again()
		sent.Again()
	}
	if events := s.inbox.events(t, s.Channel); len(events) != 3 {
		t.Errorf("%d events from three, each called three times", len(events))
	}
}

// Fault 35: Slack calls again, with X-Slack-Retry-Num, what was not confirmed.
func TestCallThatIsNotStoredComesAgain(t *testing.T) {
	s := called(t, slackfake.Options{RetryDelays: []time.Duration{0, 0, 0}})
	var once sync.Once
	s.inbox.beforeStore(func(context.Context, string) (err error) {
		once.Do(func() { err = errors.New("the database is down") })
		return err
	})
	sent := s.fake.Person("ann").DM("help")
	sent.Acked()
	d := sent.Deliveries()
	if len(d) != 2 || d[0].Status != http.StatusServiceUnavailable || d[1].Attempt != 1 || d[1].Reason != "http_error" {
		t.Errorf("deliveries %+v", d)
	}
	if events := s.inbox.events(t, s.Channel); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

// A database that hangs must not keep Slack waiting for longer than its 3 s:
// a tap is then marked as failed, a command is answered in words.
func TestSlowDatabaseIsToldInTime(t *testing.T) {
	for name, start := range map[string]func(*testing.T, slackfake.Options) *setup{"socket": connected, "http": called} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, slackfake.Options{AckTimeout: 30 * time.Second})
			ann := s.fake.Person("ann")
			mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
			s.inbox.beforeStore(func(ctx context.Context, _ string) error {
				<-ctx.Done()
				return ctx.Err()
			})
			typed := ann.Slash("approve 7")
			typed.Acked()
			lines := ann.WaitEphemerals(1)
			if !strings.Contains(lines[0].Text, "nothing was done") {
				t.Errorf("the person is told %q", lines[0].Text)
			}
			if name == "http" {
				if why := ann.Click("Reject").Failed(); why != "answered 503 Service Unavailable" {
					t.Errorf("the click failed by %q", why)
				}
			}
		})
	}
}

func TestCalledChannelKnowsItsToken(t *testing.T) {
	s := called(t, slackfake.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, s.inbox) }()
	s.fake.WaitCalls("auth.test", 1)
	for deadline := time.Now().Add(30 * time.Second); !s.Health().Connected && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if h := s.Health(); !h.Connected || h.Account != "holm" || !h.LastEvent.IsZero() {
		t.Errorf("health %+v", h)
	}
	s.fake.Person("ann").DM("help").Acked()
	if h := s.Health(); h.LastEvent.IsZero() {
		t.Errorf("health %+v", h)
	}
	cancel()
	if err := end(t, ended); err != nil {
		t.Errorf("Run ended with %v", err)
	}
	s.fake.RevokeBotToken(0)
	if err := s.Run(t.Context(), s.inbox); !errors.Is(err, bot.ErrSetup) {
		t.Errorf("with a revoked token Run ended with %v", err)
	}
}

func TestSocketChannelIsNotCalled(t *testing.T) {
	s := called(t, slackfake.Options{})
	s.Channel = s.open(t, s.fake.App(0)) // by socket
	w := httptest.NewRecorder()
	body := json.RawMessage(`{}`)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	r.Header = s.fake.Sign(0, time.Now(), body)
	s.ServeWebhook(w, r, s.inbox)
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d", w.Code)
	}
}
