package discord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holm/bot"
	"holm/channels/discord"
	"holm/internal/testkit/discordfake"
)

func TestTextsThatConcernHolm(t *testing.T) {
	s := connected(t, discordfake.Options{})
	room := s.fake.Room()
	_, asked := s.send(t, card())
	s.ann.WriteIn(room, "nobody's business")
	s.ann.Write("help")
	s.ann.Write("/whoami now")
	s.ann.WriteIn(room, discordfake.Mention+" pending")
	s.ann.ReplyTo(asked, "because")
	s.ann.Command(room, "status 4").WaitAnswered()
	events := s.inbox.wait(t, s.Channel, 5)
	for i, want := range []struct {
		text            string
		direct, command bool
		chat            string
	}{
		{"help", true, false, s.ann.Chat()}, {"whoami now", true, true, s.ann.Chat()}, {"pending", false, false, room},
		{"because", true, false, s.ann.Chat()}, {"status 4", true, true, ""},
	} {
		ev := events[i]
		if ev.Kind != bot.Text || ev.Text != want.text || ev.Direct != want.direct || ev.Command != want.command || ev.Message.Chat != want.chat || ev.Identity != s.ann.Identity() || ev.Name != "Ann" {
			t.Errorf("%d: got %+v", i, ev)
		}
	}
	if events[3].ReplyTo != (bot.MessageRef{Chat: asked.Channel, Message: asked.ID}) {
		t.Errorf("the reply answers %+v", events[3].ReplyTo)
	}
	for id, payload := range s.inbox.payloads() {
		if strings.Contains(string(payload), "nobody's business") {
			t.Errorf("%s was stored", id)
		}
	}
}

func TestUpdatesOfNobody(t *testing.T) {
	s := idle(t, discordfake.Options{})
	message := func(more string) string {
		return `{"type":"MESSAGE_CREATE","payload":{"id":"11","channel_id":"12","content":"help"` + more + `}}`
	}
	person := `,"author":{"id":"13","username":"ann"}`
	tap := func(more string) string {
		return `{"type":"INTERACTION_CREATE","payload":{"id":"11","token":"t","channel_id":"12","type":3,"data":{"custom_id":"x","component_type":2},"message":{"id":"14"}` + more + `}}`
	}
	for name, c := range map[string]struct {
		payload string
		ok, err bool
	}{
		"a message":           {message(person), true, false},
		"no author":           {message(""), false, false},
		"a bot":               {message(`,"author":{"id":"13","bot":true}`), false, false},
		"a webhook":           {message(person + `,"webhook_id":"9"`), false, false},
		"a notice":            {message(person + `,"type":7`), false, false},
		"forwarded":           {message(person + `,"message_reference":{"type":1,"message_id":"5"}`), false, false},
		"a name for an id":    {message(`,"author":{"id":"ann"}`), false, false},
		"a server":            {message(person + `,"guild_id":"15"`), false, false},
		"mention of another":  {message(person + `,"guild_id":"15","mentions":[{"id":"16"}]`), false, false},
		"a tap":               {tap(`,"user":{"id":"13"}`), true, false},
		"a tap of a bot":      {tap(`,"user":{"id":"13","bot":true}`), false, false},
		"a tap of nobody":     {tap(""), false, false},
		"another event":       {`{"type":"TYPING_START","payload":{}}`, false, false},
		"no event":            {`[]`, false, true},
		"no message":          {`{"type":"MESSAGE_CREATE","payload":7}`, false, true},
		"null":                {`{"type":"INTERACTION_CREATE","payload":null}`, false, true},
		"a command of others": {`{"type":"INTERACTION_CREATE","payload":{"id":"1","token":"t","type":2,"user":{"id":"13"},"data":{"name":"other","options":[{"name":"say","value":"help"}]}}}`, false, false},
		"a form of others":    {`{"type":"INTERACTION_CREATE","payload":{"id":"1","token":"t","type":5,"user":{"id":"13"},"data":{"custom_id":"other"}}}`, false, false},
	} {
		if ev, ok, err := s.Decode([]byte(c.payload)); ok != c.ok || (err != nil) != c.err {
			t.Errorf("%s: %+v, %v, %v", name, ev, ok, err)
		}
	}
}

// Who tapped counts, also in a server, where the member and not a user is named.
func TestTapInARoomIsOfWhoTapped(t *testing.T) {
	s := connected(t, discordfake.Options{})
	room := s.fake.Room()
	said := s.ann.WriteIn(room, discordfake.Mention+" x")
	to := s.to()
	to.ReplyTo = bot.MessageRef{Chat: room, Message: said.ID}
	if _, err := s.Send(t.Context(), to, bot.Card{Head: "here"}); err != nil {
		t.Fatal(err)
	}
	eve := s.fake.Person("Eve").Patient()
	eve.TapData(s.fake.In(room)[0], "forged")
	ev := s.inbox.wait(t, s.Channel, 2)[1]
	if ev.Kind != bot.Tap || ev.Identity != eve.Identity() || ev.Direct || ev.Token != "forged" {
		t.Errorf("got %+v", ev)
	}
}

func TestTapIsAnsweredForItsPersonAlone(t *testing.T) {
	s := connected(t, discordfake.Options{})
	ref, m := s.send(t, card())
	tap := s.ann.Tap(m, "Approve once")
	ev := s.inbox.wait(t, s.Channel, 1)[0]
	if ev.Kind != bot.Tap || ev.Token != "tok-approve" || ev.Message != ref || !ev.Direct || ev.Identity != s.ann.Identity() {
		t.Errorf("got %+v", ev)
	}
	if err := s.Answer(t.Context(), ev, "Approved *once*."); err != nil {
		t.Fatal(err)
	}
	if got := tap.WaitText(); !strings.Contains(got, "Approved *once*.") || tap.WaitAnswered() != 4 {
		t.Errorf("got %q", got)
	}
	if err := s.Answer(t.Context(), ev, ""); err != nil { // answered already
		t.Error(err)
	}
}

// A tap whose handling takes long gets a provisional answer in time, and the
// true one behind it.
func TestSlowTapIsAnsweredInTime(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.Hasten(time.Millisecond)
	run(t, s.Channel, s.inbox)
	s.fake.WaitReady(1)
	_, m := s.send(t, card())
	tap := s.ann.Tap(m, "Approve once")
	if got := tap.WaitAnswered(); got != 6 {
		t.Errorf("the provisional answer has type %d", got)
	}
	ev := s.inbox.wait(t, s.Channel, 1)[0]
	if err := s.Answer(t.Context(), ev, "Approved."); err != nil {
		t.Fatal(err)
	}
	contains(t, tap.WaitText(), "Approved.")
	if _, err := s.Ask(t.Context(), ev, bot.Question{Title: "Why", Token: "t"}); err == nil {
		t.Error("a form was opened behind another answer")
	}
}

func TestTapThatCannotBeAnsweredIsNoError(t *testing.T) {
	s := connected(t, discordfake.Options{})
	_, m := s.send(t, card())
	tap := s.ann.Patient().Tap(m, "Reject")
	ev := s.inbox.wait(t, s.Channel, 1)[0]
	tap.Expire()
	for _, text := range []string{"Too late.", ""} {
		if err := s.Answer(t.Context(), ev, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := s.Answer(t.Context(), bot.Event{}, "x"); err == nil {
		t.Error("an event without an address was answered")
	}
}

// The one thing that proves a tap is its storing: until then nothing is answered,
// and a tap that could not be stored is sent again by the resumed session.
func TestTapIsStoredBeforeItIsAnswered(t *testing.T) {
	s := idle(t, discordfake.Options{})
	s.Hasten(time.Millisecond)
	refused := make(chan struct{})
	s.inbox.beforeStore(func(string) error {
		select {
		case <-refused:
			return nil
		default:
			return errors.New("the database is away")
		}
	})
	run(t, s.Channel, s.inbox)
	s.fake.WaitReady(1)
	_, m := s.send(t, card())
	tap := s.ann.Tap(m, "Approve once")
	s.fake.WaitResumes(2) // it goes back to the event, again and again
	if n := len(s.fake.Calls("POST", "/interactions/")); n != 0 {
		t.Errorf("answered %d times before it was stored", n)
	}
	close(refused)
	if ev := s.inbox.wait(t, s.Channel, 1)[0]; ev.Token != "tok-approve" {
		t.Errorf("got %+v", ev)
	}
	tap.WaitAnswered()
	if s.fake.Starts() != 1 {
		t.Errorf("%d sessions were begun", s.fake.Starts())
	}
}

func TestRedeliveredInteractionIsOneEvent(t *testing.T) {
	s := connected(t, discordfake.Options{})
	_, m := s.send(t, card())
	tap := s.ann.Patient().Tap(m, "Reject")
	tap.Again()
	s.inbox.until(t, "two deliveries", func() bool { return s.inbox.calls == 2 })
	if ids := s.inbox.ids(); len(ids) != 1 {
		t.Errorf("stored %v", ids)
	}
}

// All processes with the token are told of each event; the inbox they share keeps
// one, and only one of them answers.
func TestTwoProcesses(t *testing.T) {
	s := idle(t, discordfake.Options{})
	other := s.open(t)
	for _, c := range []*discord.Channel{s.Channel, other} {
		c.Hasten(time.Millisecond)
		run(t, c, s.inbox)
	}
	s.fake.WaitReady(2)
	_, m := s.send(t, card())
	tap := s.ann.Tap(m, "Reject")
	s.inbox.until(t, "both", func() bool { return s.inbox.calls == 2 })
	tap.WaitAnswered()
	ev := s.inbox.wait(t, s.Channel, 1)[0]
	if err := other.Answer(t.Context(), ev, "Rejected."); err != nil {
		t.Fatal(err)
	}
	contains(t, tap.WaitText(), "Rejected.")
	if ids := s.inbox.ids(); len(ids) != 1 {
		t.Errorf("stored %v", ids)
	}
}

func TestFormForAReason(t *testing.T) {
	s := connected(t, discordfake.Options{})
	_, m := s.send(t, card())
	tap := s.ann.Tap(m, "Reject")
	ev := s.inbox.wait(t, s.Channel, 1)[0]
	token := strings.Repeat("t", 64)
	q := bot.Question{Title: "Reject request #12", Text: "Why? " + strings.Repeat("x", 300), Token: token}
	if at, err := s.Ask(t.Context(), ev, q); err != nil || at.Message != "" || !s.AsksAtOnce() {
		t.Fatalf("got %+v, %v", at, err)
	}
	if form := tap.WaitForm(); form.Title != q.Title || !strings.HasPrefix(form.Placeholder, "Why?") {
		t.Errorf("got %+v", form)
	}
	if got := tap.Submit("wrong branch").WaitAnswered(); got != 6 {
		t.Errorf("the form was answered with type %d", got)
	}
	ev = s.inbox.wait(t, s.Channel, 2)[1]
	if ev.Kind != bot.Reply || ev.Token != token || ev.Text != "wrong branch" || ev.Identity != s.ann.Identity() || !ev.Direct {
		t.Errorf("got %+v", ev)
	}
	q.Token += strings.Repeat("t", 64)
	if _, err := s.Ask(t.Context(), ev, q); err == nil {
		t.Error("an id of more than 100 bytes was sent")
	}
}

func TestCommandIsRegisteredAndAnsweredWhereItWasTyped(t *testing.T) {
	s := connected(t, discordfake.Options{})
	s.fake.WaitCommand("holm")
	contains(t, s.ann.Command(s.fake.Room(), "pending").WaitText(), "direct message")
	s.fake.Drop()
	s.fake.WaitResumes(1)
	if n := len(s.fake.Calls("POST", "/applications/")); n != 1 {
		t.Errorf("registered %d times", n)
	}
}

// What happens while the socket is away comes with the next one, in order, once.
func TestResumeLosesNothing(t *testing.T) {
	for name, cut := range map[string]func(*discordfake.Server){
		"dropped":   (*discordfake.Server).Drop,
		"reconnect": (*discordfake.Server).AskReconnect,
		"closed":    func(f *discordfake.Server) { f.Hang(4000) },
		"limited":   func(f *discordfake.Server) { f.Hang(4008) },
		"restart":   func(f *discordfake.Server) { f.Hang(1001) },
	} {
		t.Run(name, func(t *testing.T) {
			s := connected(t, discordfake.Options{})
			s.ann.Write("one")
			s.inbox.wait(t, s.Channel, 1)
			cut(s.fake)
			s.ann.Write("two")
			s.ann.Write("three")
			s.fake.WaitResumes(1)
			var texts []string
			for _, ev := range s.inbox.wait(t, s.Channel, 3) {
				texts = append(texts, ev.Text)
			}
			if !slices.Equal(texts, []string{"one", "two", "three"}) || s.fake.Starts() != 1 {
				t.Errorf("got %v with %d starts", texts, s.fake.Starts())
			}
		})
	}
}

// A session that Discord has forgotten is replaced; events go on with the new one.
func TestNewSessionWhereTheOldOneIsOver(t *testing.T) {
	for name, end := range map[string]func(*discordfake.Server){
		"timed out":   func(f *discordfake.Server) { f.Hang(4009) },
		"invalidated": (*discordfake.Server).Invalidate,
		"forgotten":   func(f *discordfake.Server) { f.Forget(); f.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			s := connected(t, discordfake.Options{})
			end(s.fake)
			s.fake.WaitStarts(2)
			s.ann.Write("after")
			if ev := s.inbox.wait(t, s.Channel, 1)[0]; ev.Text != "after" {
				t.Errorf("got %+v", ev)
			}
		})
	}
}

func TestHeartbeats(t *testing.T) {
	s := connected(t, discordfake.Options{Heartbeat: 200 * time.Millisecond})
	s.fake.WaitHeartbeats(3)
	s.fake.Mute(true)
	s.fake.WaitResumes(1) // silence is noticed, and the session goes on
	s.fake.Mute(false)
	s.ann.Write("still here")
	s.inbox.wait(t, s.Channel, 1)
}

func TestHeartbeatOnRequest(t *testing.T) {
	s := connected(t, discordfake.Options{Heartbeat: 10 * time.Hour})
	s.fake.AskHeartbeat()
	s.fake.WaitHeartbeats(1)
}

// A refused token is reported and not tried again: Discord counts that.
func TestRefusedTokenEndsRun(t *testing.T) {
	t.Run("at the gateway", func(t *testing.T) {
		s := connected(t, discordfake.Options{})
		ended := make(chan error, 1)
		other := s.open(t)
		s.fake.RevokeToken()
		go func() { ended <- other.Run(context.Background(), s.inbox) }()
		refusedBy(t, other, ended)
	})
	for name, code := range map[string]int{"token": 4004, "intents": 4014, "sharding": 4011} {
		t.Run(name, func(t *testing.T) {
			s := idle(t, discordfake.Options{})
			ended := make(chan error, 1)
			go func() { ended <- s.Run(context.Background(), s.inbox) }()
			s.fake.WaitReady(1)
			s.fake.Hang(code)
			refusedBy(t, s.Channel, ended)
			if s.fake.Starts() != 1 {
				t.Errorf("tried %d times", s.fake.Starts())
			}
		})
	}
}

func refusedBy(t *testing.T, c *discord.Channel, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, bot.ErrSetup) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Run goes on")
	}
	if h := c.Health(); h.Connected || h.Error == "" {
		t.Errorf("health is %+v", h)
	}
}

// The last session of a day is not spent: Discord takes the token away for more.
func TestSessionsAreNotSpent(t *testing.T) {
	s := idle(t, discordfake.Options{Starts: 1})
	run(t, s.Channel, s.inbox)
	s.fake.WaitStarts(1)
	other := s.open(t)
	stop := run(t, other, s.inbox)
	deadline := time.After(time.Minute)
	for !strings.Contains(other.Health().Error, "too many sessions") {
		select {
		case <-deadline:
			t.Fatal("health never told")
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	if s.fake.Starts() != 1 {
		t.Errorf("%d sessions", s.fake.Starts())
	}
}

func TestHealth(t *testing.T) {
	s := idle(t, discordfake.Options{})
	if s.Health().Connected {
		t.Error("connected before Run")
	}
	stop := run(t, s.Channel, s.inbox)
	s.ann.Write("one")
	s.fake.WaitReady(1)
	s.ann.Write("two")
	s.inbox.until(t, "an event", func() bool { return len(s.inbox.order) > 0 })
	if h := s.Health(); !h.Connected || h.Account != "holm" || h.Error != "" || h.LastEvent.IsZero() {
		t.Errorf("got %+v", h)
	}
	stop()
	if s.Health().Connected {
		t.Error("connected after Run")
	}
	if strings.Contains(s.logs.String(), s.fake.Token()) {
		t.Error("the token is in the log")
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	good := "OTAwMDAwMDAwMDAwMDAwMDAx.Gabcde.secret"
	for name, cfg := range map[string]discord.Config{
		"none": {}, "no parts": {Token: "abc"}, "no id": {Token: "YWJj.b.c"}, "with the word": {Token: "Bot " + good},
		"address": {Token: good, APIURL: "ftp://x"}, "no host": {Token: good, APIURL: "https://"},
	} {
		if c, err := discord.New(cfg); !errors.Is(err, bot.ErrSetup) || c != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := discord.New(discord.Config{Token: good})
	if err != nil || c.Namespace() != "discord" {
		t.Fatal(err)
	}
	link, hint := c.LinkFor(t.Context(), "tok")
	if link != "https://discord.com/users/900000000000000001" || !strings.HasSuffix(hint, "link tok") {
		t.Errorf("got %q, %q", link, hint)
	}
}

// What comes without a text is known as such; the text beside it counts.
func TestAttachmentsAreUnread(t *testing.T) {
	s := idle(t, discordfake.Options{})
	for extra, want := range map[string]bot.Event{
		`"content":"look","attachments":[{"id":"5"}]`: {Text: "look", Unread: true},
		`"content":"","sticker_items":[{"id":"5"}]`:   {Unread: true},
		`"content":"look","attachments":[]`:           {Text: "look"},
	} {
		ev, ok, err := s.Decode([]byte(`{"type":"MESSAGE_CREATE","payload":{"id":"12","channel_id":"34","author":{"id":"56"},` + extra + `}}`))
		if err != nil || !ok || ev.Text != want.Text || ev.Unread != want.Unread || ev.Identity != "56" {
			t.Errorf("%s: %+v, %v, %v", extra, ev, ok, err)
		}
	}
}
