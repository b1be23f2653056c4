package slack_test

import (
	"errors"
	"strings"
	"testing"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

func TestFile(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	ref := mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())
	data := strings.Repeat("{}\n", 100_000)
	to := bot.Recipient{Identity: ann.Identity(), ReplyTo: ref}
	if err := s.SendFile(t.Context(), to, "request-7-arguments.json", []byte(data), "Arguments <!here>"); err != nil {
		t.Fatal(err)
	}
	thread := s.fake.Thread(ref.Chat, ref.Message)
	if len(thread) != 2 || thread[1].File != "request-7-arguments.json" || thread[1].Data != data || thread[1].Text != "Arguments &lt;!here&gt;" {
		t.Errorf("%d messages in the thread", len(thread))
	}
	if err := s.SendFile(t.Context(), to, "x", nil, "c"); err == nil {
		t.Error("an empty file was sent")
	}
}

func TestFileThatMayNotBeSent(t *testing.T) {
	s := idle(t, slackfake.Options{Apps: []slackfake.App{{BotScopes: []string{"im:write", "chat:write"}}}})
	ann := s.fake.Person("ann")
	err := s.SendFile(t.Context(), bot.Recipient{Identity: ann.Identity()}, "x.json", []byte("x"), "c")
	if !errors.Is(err, bot.ErrSetup) {
		t.Fatalf("err = %v", err)
	}
	if h := s.Health(); !strings.Contains(h.Error, "scope files:write") {
		t.Errorf("health %+v", h)
	}
}
