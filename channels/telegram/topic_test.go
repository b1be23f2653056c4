package telegram_test

import (
	"strconv"
	"testing"

	"holm/bot"
	"holm/internal/testkit/telegramfake"
)

// TestAnswersStayInTheTopic: texts, signs, quotes and files, in the direct chat and
// in a group; a topic that was closed is met with one try elsewhere.
func TestAnswersStayInTheTopic(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitPoll()
	group := s.tg.Group("team", s.owner)
	own, theirs := s.owner.Topic(), group.Topic()
	heard := func(said telegramfake.Said) bot.Recipient {
		s.tg.WaitConfirmed(said.UpdateID)
		return bot.Recipient{Identity: id(s.owner), ReplyTo: s.decode(said.UpdateID).Message}
	}
	inOwn, inTheirs := heard(own.Say(s.owner, "/whoami")), heard(theirs.Say(s.owner, "/whoami"))
	// sent is the newest message, after a number of calls.
	sent := func(to bot.Recipient, chat int64, calls int) telegramfake.Message {
		t.Helper()
		before := len(s.tg.Calls("sendMessage"))
		ref, err := s.channel.Send(t.Context(), to, bot.Card{Head: "here"})
		if n := len(s.tg.Calls("sendMessage")) - before; err != nil || n != calls || ref.Chat != strconv.FormatInt(chat, 10) {
			t.Fatalf("sent to %+v with %d calls, error %v", ref, n, err)
		}
		return s.tg.WaitMessage(chat, nil)
	}
	if m := sent(inOwn, s.owner.ID, 1); m.Topic != own.ID {
		t.Errorf("the answer stands in topic %d", m.Topic)
	}
	if m := sent(inTheirs, group.ID(), 1); m.Topic != theirs.ID {
		t.Errorf("the answer in the group stands in topic %d", m.Topic)
	}
	if err := s.channel.SendFile(t.Context(), inOwn, "a.txt", []byte("x"), "file"); err != nil {
		t.Fatal(err)
	}
	if m := s.tg.WaitMessage(s.owner.ID, nil); m.Document == nil || m.Topic != own.ID {
		t.Errorf("the file stands in topic %d", m.Topic)
	}
	quiet := s.tg.Person("Bea")
	sign := heard(quiet.Topic().Say(quiet, "hi"))
	sign.Identity = id(quiet)
	if err := s.channel.Typing(t.Context(), sign); err != nil {
		t.Fatal(err)
	}
	if c := s.tg.WaitCall("sendChatAction", nil); c.Params["message_thread_id"] != sign.ReplyTo.Thread {
		t.Errorf("the sign has %v", c.Params)
	}
	own.Close()
	theirs.Close()
	if m := sent(inOwn, s.owner.ID, 2); m.Topic != 0 {
		t.Errorf("the answer stands in topic %d", m.Topic)
	}
	if m := sent(inTheirs, s.owner.ID, 2); m.Topic != 0 {
		t.Errorf("the answer stands in topic %d", m.Topic)
	}
	if err := s.channel.SendFile(t.Context(), inOwn, "a.txt", []byte("x"), "file"); err != nil {
		t.Error(err)
	}
}

// TestRepliesOutsideOfTopicsNameNone: threads of replies are no topics.
func TestRepliesOutsideOfTopicsNameNone(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	ev, ok, err := s.channel.Decode([]byte(`{"update_id":1,"message":{"message_id":7,"message_thread_id":3,
		"from":{"id":5,"first_name":"A"},"chat":{"id":5,"type":"private"},"text":"x"}}`))
	if err != nil || !ok || ev.Message.Thread != "" {
		t.Errorf("decoded %+v, %v, %v", ev, ok, err)
	}
}

func TestCaptionsAreTexts(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	s.run(s.channel)
	s.tg.WaitPoll()
	for _, c := range []struct {
		kind, caption, text string
		unread              bool
	}{{"photo", "what is this?", "what is this?", true}, {"voice", "", "", true}, {"photo", "/whoami", "whoami", true}, {"", "hello", "hello", false}} {
		said := s.owner.SendMedia(c.kind, c.caption)
		s.tg.WaitConfirmed(said.UpdateID)
		ev := s.decode(said.UpdateID)
		if ev.Kind != bot.Text || ev.Text != c.text || ev.Unread != c.unread || !ev.Direct {
			t.Errorf("%+v: decoded %+v", c, ev)
		}
	}
}
