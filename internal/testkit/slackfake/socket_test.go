package slackfake_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"holm/internal/testkit/slackfake"
)

func TestTicketWorksOnceAndNotForLong(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := slackfake.New(t, slackfake.Options{Clock: func() time.Time { return now }})
	link := ticket(t, s)
	conn, _, err := websocket.DefaultDialer.Dial(link, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	late := ticket(t, s)
	now = now.Add(31 * time.Second)
	for name, link := range map[string]string{"used": link, "late": late, "made up": strings.Replace(link, "ticket=", "ticket=0", 1)} {
		_, resp, err := websocket.DefaultDialer.Dial(link, nil)
		if err == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("a ticket that is %s: %v", name, err)
		}
	}
}

func TestHello(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	_, first := dial(t, s)
	_, second := dial(t, s)
	if first.Type != "hello" || first.NumConnections != 1 || first.ConnectionInfo.AppID != s.App(0).ID || second.NumConnections != 2 {
		t.Errorf("hellos %+v, %+v", first, second)
	}
}

func TestEleventhSocketIsTurnedAway(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	for range 10 {
		dial(t, s)
	}
	if _, f := dial(t, s); f.Type != "disconnect" || f.Reason != "too_many_websockets" {
		t.Errorf("the eleventh socket heard %+v", f)
	}
}

func TestPings(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{PingInterval: 10 * time.Millisecond})
	l, _ := dial(t, s)
	pings := make(chan struct{}, 1000)
	l.conn.SetPingHandler(func(string) error { pings <- struct{}{}; return nil })
	go func() { _, _, _ = l.conn.ReadMessage() }()
	for range 3 {
		<-pings
	}
}

func TestEventComesAgainUntilAcknowledged(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{AckTimeout: 50 * time.Millisecond, RetryDelays: []time.Duration{0, 0, 0}})
	s.AllowUnacked()
	l, _ := dial(t, s)
	said := s.Person("ann").DM("hello & <goodbye> https://a.b/c")
	var ids []string
	for attempt := range 3 {
		f := l.read()
		var p struct {
			EventID string `json:"event_id"`
			Event   struct{ Text string }
		}
		if err := json.Unmarshal(f.Payload, &p); err != nil {
			t.Fatal(err)
		}
		if f.Type != "events_api" || f.RetryAttempt != attempt || (f.RetryReason == "timeout") != (attempt > 0) {
			t.Errorf("attempt %d: %+v", attempt, f)
		}
		if p.Event.Text != "hello &amp; &lt;goodbye&gt; <https://a.b/c>" {
			t.Errorf("text %q", p.Event.Text)
		}
		ids = append(ids, f.EnvelopeID+" "+p.EventID)
		if attempt == 2 {
			l.ack(f, nil)
		}
	}
	said.Acked()
	if a, b := strings.Fields(ids[0]), strings.Fields(ids[1]); a[0] == b[0] || a[1] != b[1] {
		t.Errorf("ids %v; want new envelopes of one event", ids)
	}
}

func TestEventIsGivenUp(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{AckTimeout: 20 * time.Millisecond, RetryDelays: []time.Duration{0}})
	s.AllowUnacked()
	dial(t, s)
	said := s.Person("ann").DM("hello")
	if why := said.Failed(); why != "no acknowledgement in time" || len(said.Deliveries()) != 2 {
		t.Errorf("failed by %q after %d deliveries", why, len(said.Deliveries()))
	}
}

func TestClickIsNotRepeated(t *testing.T) {
	s, ann := withButton(t, t, slackfake.Options{AckTimeout: 50 * time.Millisecond})
	s.AllowUnacked()
	l, _ := dial(t, s)
	l.hear() // the bot's own message
	click := ann.Click("Go")
	if why := click.Failed(); why != "no acknowledgement in time" || len(click.Deliveries()) != 1 {
		t.Errorf("failed by %q after %d deliveries", why, len(click.Deliveries()))
	}
}

// withButton is a server where ann has a message with the button Go.
func withButton(t *testing.T, report slackfake.T, opts slackfake.Options) (*slackfake.Server, *slackfake.Person) {
	t.Helper()
	s := slackfake.New(report, opts)
	ann := s.Person("ann")
	blocks := jsonOf([]any{section("a card"), obj{"type": "actions", "elements": []any{button("go", "Go", "v1")}}})
	if got := call(t, s, "chat.postMessage", "channel", ann.Chat(), "blocks", blocks); got.code() != "" {
		t.Fatalf("post: %v", got)
	}
	return s, ann
}

func TestUnacknowledgedClickFailsTheTest(t *testing.T) {
	r := record(t)
	s, ann := withButton(t, r, slackfake.Options{AckTimeout: 20 * time.Millisecond})
	l, _ := dial(t, s)
	l.hear()
	ann.Click("Go").Failed()
	r.wants(`ann's click on "Go" was not acknowledged`)
}

func TestClickWhileNobodyListens(t *testing.T) {
	_, ann := withButton(t, t, slackfake.Options{})
	if why := ann.Click("Go").Failed(); why != "nobody was connected" {
		t.Errorf("failed by %q", why)
	}
}

func TestClickPayload(t *testing.T) {
	s, ann := withButton(t, t, slackfake.Options{})
	l, _ := dial(t, s)
	l.hear()
	ben := s.Person("ben")
	for name, press := range map[string]func() *slackfake.Sent{
		"own":    func() *slackfake.Sent { return ann.Click("Go") },
		"other":  func() *slackfake.Sent { return ann.ClickAs(ben, "Go") },
		"forged": func() *slackfake.Sent { return ann.ClickForged(ann.Messages()[0], "v2") },
	} {
		sent := press()
		f := l.hear()
		sent.Acked()
		var p struct {
			Type        string
			User        struct{ ID, Team_ID string }
			Message     struct{ TS string }
			Container   struct{ Message_TS, Channel_ID string }
			Actions     []struct{ Value, Action_ID, Action_TS string }
			Trigger_ID  string
			ResponseURL string `json:"response_url"`
		}
		if err := json.Unmarshal(f.Payload, &p); err != nil {
			t.Fatal(err)
		}
		user, value := ann.ID(), "v1"
		switch name {
		case "other":
			user = ben.ID()
		case "forged":
			value = "v2"
		}
		if f.Type != "interactive" || !f.Accepts || p.Type != "block_actions" || p.User.ID != user || p.Actions[0].Value != value ||
			p.Message.TS != p.Container.Message_TS || p.Container.Channel_ID != ann.Chat() || strings.Count(p.Trigger_ID, ".") != 2 {
			t.Errorf("%s: %s", name, f.Payload)
		}
	}
}

func TestStaleClick(t *testing.T) {
	s, ann := withButton(t, t, slackfake.Options{})
	l, _ := dial(t, s)
	l.hear()
	call(t, s, "chat.update", "channel", ann.Chat(), "ts", ann.Messages()[0].TS, "text", "closed")
	l.hear()
	sent := ann.ClickStale("Go")
	if f := l.hear(); !strings.Contains(string(f.Payload), `"v1"`) {
		t.Errorf("payload %s", f.Payload)
	}
	sent.Acked()
}

func TestEventsThatAreLost(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	s.LoseEvents()
	if why := s.Person("ann").DM("hello").Failed(); why != "nobody was connected" {
		t.Errorf("failed by %q", why)
	}
}

func TestAcknowledgementsThatDoNotCount(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{AckTimeout: 100 * time.Millisecond, RetryDelays: []time.Duration{}})
	s.AllowUnacked()
	l, _ := dial(t, s)
	command := s.Person("ann").Slash("help")
	l.ack(l.read(), strings.Repeat("x", 20_480))
	if why := command.Failed(); why != "no acknowledgement in time" {
		t.Errorf("failed by %q", why)
	}
}

func TestAcknowledgementsThatAreWrong(t *testing.T) {
	for want, do := range map[string]func(*slackfake.Server, *listener){
		"carries a payload": func(s *slackfake.Server, l *listener) {
			s.Person("ann").DM("hello")
			l.ack(l.read(), "thanks")
		},
		"which was never sent": func(_ *slackfake.Server, l *listener) { l.ack(frame{EnvelopeID: "e"}, nil) },
		"acknowledges nothing": func(_ *slackfake.Server, l *listener) { l.ack(frame{}, nil) },
	} {
		t.Run(want, func(t *testing.T) {
			r := record(t)
			s := slackfake.New(r, slackfake.Options{})
			l, _ := dial(t, s)
			do(s, l)
			r.wants(want)
		})
	}
}

func TestEndsOfASocket(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{RetryDelays: []time.Duration{0}})
	l, _ := dial(t, s)
	s.Disconnect(0, "warning")
	if f := l.read(); f.Reason != "warning" {
		t.Errorf("heard %+v", f)
	}
	said := s.Person("ann").DM("hello")
	l.read() // after a warning the socket still works
	next, _ := dial(t, s)
	s.Disconnect(0, "refresh_requested")
	_ = l.conn.Close()
	if f := next.read(); f.Reason != "refresh_requested" {
		t.Errorf("heard %+v", f)
	}
	last, _ := dial(t, s) // the lost event waits for a socket that may receive
	if f := last.hear(); f.RetryAttempt != 1 {
		t.Errorf("heard %+v", f)
	}
	said.Acked()
	s.HangUp(0)
	s.WaitSockets(0, 0)
}

func TestTwoAppsHearTheirOwn(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Apps: []slackfake.App{{}, {Team: "T0TWO"}}})
	l, _ := dial(t, s)
	if why := s.PersonOf(1, "eve").Slash("help").Failed(); why != "nobody was connected" {
		t.Errorf("the other app's command: %q", why)
	}
	mine := s.Person("ann").Slash("help")
	if f := l.hear(); !strings.Contains(string(f.Payload), `"team_id":"T0HOLM"`) {
		t.Errorf("payload %s", f.Payload)
	}
	mine.Acked()
}

func TestResponseAddress(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s, ann := withButton(t, t, slackfake.Options{Clock: func() time.Time { return now }})
	l, _ := dial(t, s)
	l.hear()
	address := func() string {
		sent := ann.Click("Go")
		f := l.hear()
		sent.Acked()
		var p struct {
			ResponseURL string `json:"response_url"`
		}
		if err := json.Unmarshal(f.Payload, &p); err != nil {
			t.Fatal(err)
		}
		return p.ResponseURL
	}
	to := address()
	for use := range 6 {
		status, _, body := post(t, to, "application/json", `{"text":"only you","response_type":"ephemeral","replace_original":false}`)
		if ok := status == 200 && string(body) == "ok"; ok != (use < 5) || (!ok && status != 404) {
			t.Errorf("use %d: %d %s", use, status, body)
		}
	}
	if n := len(ann.Ephemerals()); n != 5 {
		t.Errorf("%d ephemeral lines", n)
	}
	late := address()
	if status, _, body := post(t, address(), "application/json", `{"text":"done","replace_original":true}`); status != 200 {
		t.Errorf("replace: %d %s", status, body)
	}
	if m := ann.Messages()[0]; m.Shown() != "done" || len(m.Buttons()) != 0 {
		t.Errorf("the original shows %q", m.Shown())
	}
	now = now.Add(31 * time.Minute)
	if status, _, _ := post(t, late, "application/json", `{"text":"late"}`); status != 404 {
		t.Errorf("after 31 minutes: %d", status)
	}
}
