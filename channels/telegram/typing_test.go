package telegram_test

import (
	"errors"
	"testing"

	"holm/bot"
	"holm/internal/testkit/telegramfake"
)

// TestTypingTakesNoRoomFromMessages: it is shown in a quiet chat alone, once for all
// that is typed at one time.
func TestTypingTakesNoRoomFromMessages(t *testing.T) {
	s := newSetup(t, telegramfake.Options{})
	for range 3 {
		if err := s.channel.Typing(t.Context(), s.to()); err != nil {
			t.Fatal(err)
		}
	}
	calls := s.tg.Calls("sendChatAction")
	if len(calls) != 1 || calls[0].Params["action"] != "typing" || calls[0].Params["chat_id"] != id(s.owner) {
		t.Fatalf("calls %+v", calls)
	}
	s.tg.Inject(telegramfake.Fault{Method: "sendChatAction", Code: 429, RetryAfter: 240, Description: "Too Many Requests: retry after 240"})
	var limited *bot.RetryError
	bea := bot.Recipient{Identity: id(s.tg.Person("Bea").Open())}
	if err := s.channel.Typing(t.Context(), bea); !errors.As(err, &limited) {
		t.Errorf("too many: %v", err)
	}
	for range 3 {
		cy := bot.Recipient{Identity: id(s.tg.Person("Cy").Open())}
		if err := s.channel.Typing(t.Context(), cy); err != nil {
			t.Error(err)
		}
	}
	if n := len(s.tg.Calls("sendChatAction")); n != 2 {
		t.Errorf("%d calls where Telegram wants none", n)
	}
	s.send(card()) // which a limit of signs does not hold up
	if err := s.channel.Typing(t.Context(), bot.Recipient{Identity: "nobody"}); !errors.Is(err, bot.ErrUnreachable) {
		t.Errorf("nobody: %v", err)
	}
}
