package telegram_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/bot"
	"holm/channels/telegram"
	"holm/internal/testkit/telegramfake"
)

func TestForgedTapPassesAsOpaque(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnanswered: true})
	s.run(s.channel)
	s.tg.WaitPoll()
	m := s.send(card())
	mallory := s.tg.Person("Mallory").Open()
	if _, err := s.channel.Send(t.Context(), bot.Recipient{Identity: id(mallory)}, bot.Card{Head: "hi"}); err != nil {
		t.Fatal(err)
	}
	theirs := s.tg.WaitMessage(mallory.ID, nil)
	for _, data := range []string{"tok-approve", "'; DROP TABLE", "\u202e\x00" + strings.Repeat("x", 500), ""} {
		tap := mallory.ClickForged(theirs, data)
		s.tg.WaitConfirmed(tap.UpdateID)
		ev := s.decode(tap.UpdateID)
		if ev.Token != data || ev.Identity != id(mallory) || ev.Message != s.ref(theirs) {
			t.Errorf("decoded %+v", ev)
		}
	}
	stale := s.owner.ClickStale(m, "Approve")
	s.tg.WaitConfirmed(stale.UpdateID)
	if ev := s.decode(stale.UpdateID); ev.Identity != id(s.owner) || !ev.Direct {
		t.Errorf("decoded %+v", ev)
	}
}

func TestTapInAGroupIsOfWhoTapped(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnanswered: true})
	s.run(s.channel)
	s.tg.WaitPoll()
	other := s.tg.Person("Eve")
	m := s.tg.Group("team", s.owner, other).Post("card", telegramfake.Button{Text: "Approve", Data: "tok"})
	tap := other.Click(m, "Approve")
	s.tg.WaitConfirmed(tap.UpdateID)
	ev := s.decode(tap.UpdateID)
	if ev.Identity != id(other) || ev.Direct || ev.Name != "Eve" || ev.Message != s.ref(m) {
		t.Errorf("decoded %+v", ev)
	}
}

func TestTapOnADeletedMessageKeepsItsPlace(t *testing.T) {
	s := newSetup(t, telegramfake.Options{AllowUnanswered: true})
	s.run(s.channel)
	s.tg.WaitPoll()
	m := s.send(card())
	s.owner.Delete(m)
	tap := s.owner.ClickStale(m, "Approve")
	s.tg.WaitConfirmed(tap.UpdateID)
	if ev := s.decode(tap.UpdateID); ev.Message != s.ref(m) || ev.Token != "tok-approve" {
		t.Errorf("decoded %+v", ev)
	}
}

func TestAnswers(t *testing.T) {
	now := time.Now()
	s := newSetup(t, telegramfake.Options{Clock: func() time.Time { return now }})
	s.run(s.channel)
	s.tg.WaitPoll()
	m := s.send(card())
	tap := func() (telegramfake.Tap, bot.Event) {
		tap := s.owner.Click(m, "Approve")
		s.tg.WaitConfirmed(tap.UpdateID)
		return tap, s.decode(tap.UpdateID)
	}
	for name, c := range map[string]struct {
		text  string
		want  string
		alert bool
	}{
		"toast":    {"Approved", "Approved", false},
		"silent":   {"", "", false},
		"refusal":  {strings.Repeat("Only the owner may decide. ", 3), strings.TrimSpace(strings.Repeat("Only the owner may decide. ", 3)), true},
		"too long": {strings.Repeat("ü", 300), strings.Repeat("ü", 199) + "…", true},
		"hidden":   {"by \u202eadA", "by U+202EadA", false},
	} {
		t.Run(name, func(t *testing.T) {
			pressed, ev := tap()
			if err := s.channel.Answer(t.Context(), ev, c.text); err != nil {
				t.Fatal(err)
			}
			a := s.tg.WaitAnswer(pressed)
			if strings.TrimSpace(a.Text) != c.want || a.Alert != c.alert {
				t.Errorf("the person saw %+v", a)
			}
			if err := s.channel.Answer(t.Context(), ev, c.text); err != nil {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
	t.Run("rate limit", func(t *testing.T) {
		_, ev := tap()
		s.tg.Inject(telegramfake.Fault{Method: "answerCallbackQuery", Code: 429, RetryAfter: 2, Description: "Too Many Requests: retry after 2"})
		var busy *bot.RetryError
		if err := s.channel.Answer(t.Context(), ev, "x"); !errors.As(err, &busy) || busy.After != 2*time.Second {
			t.Errorf("got %v", err)
		}
		if err := s.channel.Answer(t.Context(), ev, "x"); err != nil {
			t.Error(err)
		}
	})
	t.Run("too late", func(t *testing.T) {
		_, ev := tap()
		now = now.Add(time.Minute)
		if err := s.channel.Answer(t.Context(), ev, "x"); err != nil {
			t.Error(err)
		}
	})
	t.Run("not a tap", func(t *testing.T) {
		if err := s.channel.Answer(t.Context(), bot.Event{Kind: bot.Text}, "x"); err == nil {
			t.Error("a text was answered like a tap")
		}
	})
}

func TestTexts(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitPoll()
	group := s.tg.Group("team", s.owner)
	me := s.tg.Username()
	direct, inGroup := s.owner.Say, func(text string) telegramfake.Said { return group.Say(s.owner, text) }
	cases := []struct {
		say  func(string) telegramfake.Said
		text string
		want string
		ok   bool
	}{
		{direct, "/start tok_EN-1", "start tok_EN-1", true},
		{direct, "/run shell  a=1\nb=2", "run shell  a=1\nb=2", true},
		{direct, "/HELP@" + strings.ToUpper(me), "HELP", true},
		{direct, "approve 7", "approve 7", true},
		{direct, "/etc/passwd please", "/etc/passwd please", true},
		{direct, "/help@other_bot", "", false},
		{direct, "/helpé", "/helpé", true},
		{direct, "mail me@holm_test_bot.org", "mail me@holm_test_bot.org", true},
		{inGroup, "/status@" + me + " 3", "status 3", true},
		{inGroup, "/status@other_bot 3", "", false},
		{inGroup, "/status 3", "status 3", true},
		{inGroup, "@" + me + " status 3", "status 3", true},
		{inGroup, "hey @" + me + ", who is there?", "hey , who is there?", true},
		{inGroup, "@" + me + "2 status", "", false},
		{inGroup, "lunch?", "", false},
	}
	for _, c := range cases {
		said := c.say(c.text)
		s.tg.WaitConfirmed(said.UpdateID)
		ev, ok, err := s.channel.Decode(s.inbox.payload(said.UpdateID))
		if err != nil || ok != c.ok || ev.Text != c.want {
			t.Errorf("%q became %q, ok %v, error %v", c.text, ev.Text, ok, err)
		}
		if ok && (ev.Identity != id(s.owner) || ev.Kind != bot.Text || ev.Direct != (ev.Message.Chat == id(s.owner))) {
			t.Errorf("%q: %+v", c.text, ev)
		}
	}
	reply := s.owner.Reply(group.Post("which one?"), "the second")
	s.tg.WaitConfirmed(reply.UpdateID)
	if ev := s.decode(reply.UpdateID); ev.Text != "the second" || ev.Direct {
		t.Errorf("a reply became %+v", ev)
	}
}

func TestUpdatesOfNobody(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	for name, payload := range map[string]string{
		"tap without from":     `{"update_id":1,"callback_query":{"id":"5","data":"x"}}`,
		"tap of a bot":         `{"update_id":1,"callback_query":{"id":"5","from":{"id":9,"is_bot":true},"data":"x"}}`,
		"text without from":    `{"update_id":1,"message":{"message_id":2,"chat":{"id":3,"type":"private"},"text":"approve 1"}}`,
		"text of a bot":        `{"update_id":1,"message":{"message_id":2,"from":{"id":9,"is_bot":true},"chat":{"id":9,"type":"private"},"text":"approve 1"}}`,
		"forwarded":            `{"update_id":1,"message":{"message_id":2,"from":{"id":9},"chat":{"id":9,"type":"private"},"text":"approve 1","forward_origin":{"type":"user"}}}`,
		"through another bot":  `{"update_id":1,"message":{"message_id":2,"from":{"id":9},"chat":{"id":9,"type":"private"},"text":"approve 1","via_bot":{"id":8,"is_bot":true}}}`,
		"in a channel's name":  `{"update_id":1,"message":{"message_id":2,"from":{"id":777000},"sender_chat":{"id":-7},"chat":{"id":-9,"type":"supergroup"},"text":"/approve 1"}}`,
		"membership":           `{"update_id":1,"my_chat_member":{"from":{"id":9}}}`,
		"edited":               `{"update_id":1,"edited_message":{"message_id":2,"from":{"id":9},"chat":{"id":9,"type":"private"},"text":"approve 1"}}`,
		"a channel's post":     `{"update_id":1,"channel_post":{"message_id":2,"sender_chat":{"id":-9},"chat":{"id":-9,"type":"channel"},"text":"/approve 1"}}`,
		"anonymous admin":      `{"update_id":1,"message":{"message_id":2,"from":{"id":1087968824,"is_bot":true},"sender_chat":{"id":-9},"chat":{"id":-9,"type":"supergroup"},"text":"/approve 1"}}`,
		"linked channel":       `{"update_id":1,"message":{"message_id":2,"from":{"id":777000},"sender_chat":{"id":-7},"is_automatic_forward":true,"chat":{"id":-9,"type":"supergroup"},"text":"/approve 1"}}`,
		"group moved away":     `{"update_id":1,"message":{"message_id":2,"from":{"id":9},"chat":{"id":-9,"type":"group"},"migrate_to_chat_id":-1009}}`,
		"group moved here":     `{"update_id":1,"message":{"message_id":2,"from":{"id":9},"chat":{"id":-1009,"type":"supergroup"},"migrate_from_chat_id":-9}}`,
		"added to a group":     `{"update_id":1,"my_chat_member":{"from":{"id":9},"chat":{"id":-9,"type":"group"},"new_chat_member":{"status":"member"}}}`,
		"standing of another":  `{"update_id":1,"my_chat_member":{"from":{"id":8},"chat":{"id":9,"type":"private"},"new_chat_member":{"status":"kicked"}}}`,
		"an unknown standing":  `{"update_id":1,"my_chat_member":{"from":{"id":9},"chat":{"id":9,"type":"private"},"new_chat_member":{"status":"left"}}}`,
		"a kind of the future": `{"update_id":1,"brain_wave":{"from":{"id":9}}}`,
	} {
		if ev, ok, err := s.channel.Decode(json.RawMessage(payload)); ok || err != nil {
			t.Errorf("%s: %+v, %v", name, ev, err)
		}
	}
	for _, payload := range []string{``, `[]`, `{"update_id":1,"message":7}`, `{"callback_query":{"from":{"id":"9"}}}`, `{"message":{"from":{"id":1e99}}}`} {
		if _, _, err := s.channel.Decode(json.RawMessage(payload)); err == nil {
			t.Errorf("%q was read", payload)
		}
	}
}

func TestMentionCannotBeJudgedBeforeTheNameIsKnown(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	payload := json.RawMessage(`{"update_id":1,"message":{"message_id":2,"from":{"id":9},"chat":{"id":9,"type":"private"},"text":"/help@holm_test_bot"}}`)
	if _, _, err := s.channel.Decode(payload); err == nil {
		t.Fatal("judged without knowing the own name")
	}
	s.channel.LinkFor(t.Context(), "x")
	if ev, ok, err := s.channel.Decode(payload); err != nil || !ok || ev.Text != "help" {
		t.Errorf("%+v, %v, %v", ev, ok, err)
	}
}

func TestLinks(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.tg.Inject(telegramfake.Fault{Method: "getMe", HTML: true})
	type answer struct{ Link, Hint string }
	ask := func(token string) answer {
		link, hint := s.channel.LinkFor(t.Context(), token)
		return answer{link, hint}
	}
	got := []answer{ask("abc_-1"), ask("abc_-1"), ask("not for a link!"), ask(strings.Repeat("x", 65))}
	want := []answer{
		{"", "send the bot: link abc_-1"}, // the name could not be learnt
		{"https://t.me/holm_test_bot?start=abc_-1", "send the bot: link abc_-1"},
		{"", "send the bot: link not for a link!"},
		{"", "send the bot: link " + strings.Repeat("x", 65)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	s := telegramfake.New(f, telegramfake.Options{})
	ch, err := telegram.New(telegram.Config{Token: s.Token(), APIURL: s.URL()})
	if err != nil {
		f.Fatal(err)
	}
	if link, _ := ch.LinkFor(f.Context(), "x"); link == "" {
		f.Fatal("the bot's name was not learnt")
	}
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"5","from":{"id":9},"message":{"message_id":1,"chat":{"id":9,"type":"private"},"date":0},"data":"x"}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":2,"from":{"id":9},"chat":{"id":9,"type":"private"},"text":"hi @holm_test_bot @x"}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		ev, ok, err := ch.Decode(payload)
		if ok && (err != nil || ev.Identity == "" || ev.Identity[0] == '-') {
			t.Errorf("%q became %+v, %v", payload, ev, err)
		}
	})
}
