package telegramfake_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holm/internal/testkit/telegramfake"
)

func TestRefusals(t *testing.T) {
	now := time.Now()
	s := telegramfake.New(t, telegramfake.Options{AllowUnconfirmed: true, Clock: func() time.Time { return now }})
	ada, bob, eve := s.Person("Ada").Open(), s.Person("Bob").Open(), s.Person("Eve")
	gone := s.Person("Gone").Open()
	gone.Deactivate()
	bob.Block()
	group, old := s.Group("team", ada, eve), s.Group("old", ada)
	lost := s.Group("lost", ada)
	oldID := old.ID()
	old.Migrate()
	lost.KickBot(ada)
	said := ada.Say("mine")
	keys := func(rows any) params { return params{"inline_keyboard": rows} }
	button := func(b params) params { return keys([]any{[]any{b}}) }
	many := make([]any, 101)
	for i := range many {
		many[i] = []any{params{"text": "b", "callback_data": "x"}}
	}
	call(t, s, "sendMessage", params{"chat_id": ada.ID, "text": "<b>card</b>", "parse_mode": "HTML", "reply_markup": button(params{"text": "ok", "callback_data": "x"})})
	card := s.WaitMessage(ada.ID, nil)

	for name, c := range map[string]struct {
		method string
		params params
		code   int
		want   string
	}{
		"no chat":               {"sendMessage", params{"text": "x"}, 400, "Bad Request: chat_id is empty"},
		"unknown chat":          {"sendMessage", params{"chat_id": 4, "text": "x"}, 400, "Bad Request: chat not found"},
		"unknown name":          {"sendMessage", params{"chat_id": "@nobody", "text": "x"}, 400, "Bad Request: chat not found"},
		"blocked":               {"sendMessage", params{"chat_id": bob.ID, "text": "x"}, 403, "Forbidden: bot was blocked by the user"},
		"blocked for actions":   {"sendChatAction", params{"chat_id": bob.ID, "action": "typing"}, 403, "Forbidden: bot was blocked by the user"},
		"deactivated":           {"sendMessage", params{"chat_id": gone.ID, "text": "x"}, 403, "Forbidden: user is deactivated"},
		"never started":         {"sendMessage", params{"chat_id": eve.ID, "text": "x"}, 403, "Forbidden: bot can't initiate conversation with a user"},
		"kicked":                {"sendMessage", params{"chat_id": lost.ID(), "text": "x"}, 403, "Forbidden: bot was kicked from the group chat"},
		"no text":               {"sendMessage", params{"chat_id": ada.ID}, 400, "Bad Request: message text is empty"},
		"only white space":      {"sendMessage", params{"chat_id": ada.ID, "text": " <b> </b>\n", "parse_mode": "HTML"}, 400, "Bad Request: message text is empty"},
		"too long":              {"sendMessage", params{"chat_id": ada.ID, "text": strings.Repeat("é", 4097)}, 400, "Bad Request: message is too long"},
		"far too long":          {"sendMessage", params{"chat_id": ada.ID, "text": strings.Repeat("x", 32769)}, 400, "Bad Request: text is too long"},
		"unknown parse mode":    {"sendMessage", params{"chat_id": ada.ID, "text": "x", "parse_mode": "RTF"}, 400, "Bad Request: unsupported parse_mode"},
		"bad entities":          {"sendMessage", params{"chat_id": ada.ID, "text": "<x>", "parse_mode": "HTML"}, 400, `Bad Request: can't parse entities: Unsupported start tag "x" at byte offset 0`},
		"long data":             {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_markup": button(params{"text": "b", "callback_data": strings.Repeat("é", 33)})}, 400, "Bad Request: BUTTON_DATA_INVALID"},
		"empty data":            {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_markup": button(params{"text": "b", "callback_data": ""})}, 400, "Bad Request: BUTTON_DATA_INVALID"},
		"no action":             {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_markup": button(params{"text": "b"})}, 400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
		"keyboard is null":      {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_markup": `{"inline_keyboard":null}`}, 400, `Bad Request: can't parse inline keyboard: field "inline_keyboard" must be of type Array of Array`},
		"keyboard of one row":   {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_markup": keys([]any{params{"text": "b"}})}, 400, `Bad Request: can't parse inline keyboard: field "inline_keyboard" must be of type Array of Array`},
		"too many buttons":      {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_markup": keys(many)}, 400, "Bad Request: reply markup is too long"},
		"reply to nothing":      {"sendMessage", params{"chat_id": ada.ID, "text": "x", "reply_parameters": params{"message_id": 99}}, 400, "Bad Request: message to be replied not found"},
		"edit nothing":          {"editMessageText", params{"chat_id": ada.ID, "message_id": 99, "text": "x"}, 400, "Bad Request: message to edit not found"},
		"edit without id":       {"editMessageText", params{"chat_id": ada.ID, "text": "x"}, 400, "Bad Request: message identifier is not specified"},
		"edit of the person's":  {"editMessageText", params{"chat_id": ada.ID, "message_id": said.MessageID, "text": "x"}, 400, "Bad Request: message can't be edited"},
		"edit changes nothing":  {"editMessageText", params{"chat_id": ada.ID, "message_id": card.ID, "text": " <strong>card</strong>", "parse_mode": "HTML", "reply_markup": button(params{"text": "ok", "callback_data": "x"})}, 400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"},
		"delete nothing":        {"deleteMessage", params{"chat_id": ada.ID, "message_id": 99}, 400, "Bad Request: message to delete not found"},
		"no such action":        {"sendChatAction", params{"chat_id": ada.ID, "action": "thinking"}, 400, "Bad Request: wrong parameter action in request"},
		"answer of nothing":     {"answerCallbackQuery", params{"callback_query_id": "77"}, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid"},
		"answer not a number":   {"answerCallbackQuery", params{"callback_query_id": "x"}, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid"},
		"answer too long":       {"answerCallbackQuery", params{"callback_query_id": "77", "text": strings.Repeat("x", 201)}, 400, "Bad Request: MESSAGE_TOO_LONG"},
		"no document":           {"sendDocument", params{"chat_id": ada.ID}, 400, "Bad Request: there is no document in the request"},
		"bad command":           {"setMyCommands", params{"commands": []any{params{"command": "Run It", "description": "x"}}}, 400, "Bad Request: BOT_COMMAND_INVALID"},
		"command not described": {"setMyCommands", params{"commands": []any{params{"command": "run", "description": ""}}}, 400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID"},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, call(t, s, c.method, c.params), c.code, c.want) })
	}
	t.Run("migrated", func(t *testing.T) {
		a := call(t, s, "sendMessage", params{"chat_id": oldID, "text": "x"})
		wantRefusal(t, a, 400, "Bad Request: group chat was upgraded to a supergroup chat")
		if a.Parameters.MigrateTo != old.ID() {
			t.Errorf("migrated to %d", a.Parameters.MigrateTo)
		}
	})
	t.Run("deleted by age", func(t *testing.T) {
		now = now.Add(49 * time.Hour)
		wantRefusal(t, call(t, s, "deleteMessage", params{"chat_id": ada.ID, "message_id": card.ID}), 400, "Bad Request: message can't be deleted for everyone")
	})
	if n := len(s.Transcript(group.ID())) + len(s.Transcript(bob.ID)); n != 0 {
		t.Errorf("%d messages where none should be", n)
	}
}

func TestAcceptedAtTheLimit(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	ada := s.Person("Ada").Open()
	for name, p := range map[string]params{
		"4096 characters after parsing": {"text": "<b>" + strings.Repeat("&lt;", 4096) + "</b>", "parse_mode": "html"},
		"characters beyond the BMP":     {"text": strings.Repeat("😀", 4096)},
		"64 bytes of data":              {"text": "x", "reply_markup": params{"inline_keyboard": []any{[]any{params{"text": "b", "callback_data": strings.Repeat("é", 32)}}}}},
		"a lost reply":                  {"text": "x", "reply_parameters": params{"message_id": 99, "allow_sending_without_reply": true}},
	} {
		p["chat_id"] = ada.ID
		if a := call(t, s, "sendMessage", p); !a.OK {
			t.Errorf("%s: %s", name, a.Description)
		}
	}
}

func TestQueryLife(t *testing.T) {
	now := time.Now()
	s := telegramfake.New(t, telegramfake.Options{AllowUnconfirmed: true, Clock: func() time.Time { return now }})
	ada := s.Person("Ada").Open()
	call(t, s, "sendMessage", params{"chat_id": ada.ID, "text": "card", "reply_markup": params{"inline_keyboard": []any{[]any{params{"text": "ok", "callback_data": "x"}}}}})
	m := s.WaitMessage(ada.ID, nil)
	const tooOld = "Bad Request: query is too old and response timeout expired or query ID is invalid"

	first, second := ada.DoubleClick(m, "ok")
	reply := func(tap telegramfake.Tap) answer {
		return call(t, s, "answerCallbackQuery", params{"callback_query_id": tap.QueryID, "text": "done", "show_alert": true})
	}
	now = now.Add(15 * time.Second)
	if a := reply(first); !a.OK {
		t.Errorf("got %+v", a)
	}
	wantRefusal(t, reply(first), 400, tooOld)
	now = now.Add(time.Second)
	wantRefusal(t, reply(second), 400, tooOld)
	if got := s.Answers(); len(got) != 1 || got[0].User != ada.ID || got[0].Text != "done" || !got[0].Alert {
		t.Errorf("the person saw %+v", got)
	}
}

func TestRateLimits(t *testing.T) {
	now := time.Now()
	s := telegramfake.New(t, telegramfake.Options{RateLimits: true, AllowUnconfirmed: true, Clock: func() time.Time { return now }})
	send := func(chat int64, n int) answer {
		return call(t, s, "sendMessage", params{"chat_id": chat, "text": fmt.Sprint(n)})
	}
	ada := s.Person("Ada").Open()
	if a := send(ada.ID, 1); !a.OK {
		t.Fatal(a.Description)
	}
	a := send(ada.ID, 2)
	wantRefusal(t, a, http.StatusTooManyRequests, "Too Many Requests: retry after 1")
	if a.Parameters.RetryAfter != 1 {
		t.Errorf("retry after %d", a.Parameters.RetryAfter)
	}
	now = now.Add(time.Second)
	if a := send(ada.ID, 3); !a.OK {
		t.Error(a.Description)
	}
	now = now.Add(time.Second)
	for n := range 31 {
		a := send(s.Person("P").Open().ID, n)
		if a.OK != (n < 30) {
			t.Errorf("message %d of all: %+v", n, a)
		}
	}
}
