package telegramfake_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/internal/testkit/telegramfake"
)

// One conversation from both sides: what is typed and tapped, what is shown.
func TestConversation(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	ada := s.PersonWithID(4711, "Ada")
	start := ada.Command("start tok")
	update := oneUpdate(t, s, start.UpdateID)
	if m := update.Message; m.Text != "/start tok" || m.From.ID != 4711 || m.Chat.ID != 4711 || m.Chat.Type != "private" || m.Entities[0].Type != "bot_command" {
		t.Errorf("got %+v", m)
	}

	ok := params{"inline_keyboard": []any{[]any{params{"text": "ok", "callback_data": "x"}, params{"text": "more", "url": "https://holm.example"}}}}
	call(t, s, "sendMessage", params{"chat_id": 4711, "text": "card", "reply_markup": ok, "disable_notification": true, "link_preview_options": params{"is_disabled": true}, "reply_parameters": params{"message_id": start.MessageID}})
	card := s.WaitMessage(4711, nil)
	want := telegramfake.Message{
		Chat: 4711, ID: card.ID, From: card.From, Date: card.Date, Text: "card", Silent: true, NoPreview: true, ReplyTo: start.MessageID,
		Buttons: [][]telegramfake.Button{{{Text: "ok", Data: "x"}, {Text: "more", URL: "https://holm.example"}}},
	}
	if diff := cmp.Diff(want, card); diff != "" {
		t.Error(diff)
	}
	tap := ada.Click(card, "ok")
	call(t, s, "editMessageText", params{"chat_id": 4711, "message_id": card.ID, "text": "decided"})
	call(t, s, "answerCallbackQuery", params{"callback_query_id": tap.QueryID, "text": "thanks"})
	if a := s.WaitAnswer(tap); a.Text != "thanks" || a.Alert {
		t.Errorf("the person saw %+v", a)
	}
	if now := s.Transcript(4711)[1]; now.Text != "decided" || now.Buttons != nil || now.Edits != 1 {
		t.Errorf("an edit without a keyboard left %+v", now)
	}
	call(t, s, "editMessageReplyMarkup", params{"chat_id": 4711, "message_id": card.ID, "reply_markup": ok})
	if _, found := s.Transcript(4711)[1].Button("ok"); !found {
		t.Error("the keyboard did not come back")
	}
	if q := oneUpdate(t, s, tap.UpdateID).Callback; q.Data != "x" || q.ID != tap.QueryID || q.Message.Text != "card" || q.Instance == "" {
		t.Errorf("got %+v", q)
	}

	ada.Delete(card)
	if n := len(s.Transcript(4711)); n != 1 {
		t.Errorf("%d messages are seen", n)
	}
	late := ada.ClickStale(card, "ok")
	if q := oneUpdate(t, s, late.UpdateID).Callback; q.Message.Date != 0 || q.Message.ID != card.ID || q.Message.Text != "" {
		t.Errorf("a deleted message is shown: %+v", q.Message)
	}
	call(t, s, "answerCallbackQuery", params{"callback_query_id": late.QueryID})
	poll(t, s, params{"offset": late.UpdateID + 1, "timeout": 0})
	s.Settle()
	s.WaitCall("answerCallbackQuery", nil)
	if a := call(t, s, "getChat", params{"chat_id": 4711}); !a.OK {
		t.Errorf("got %+v", a)
	}
}

func TestGroupsHearOfMembership(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{AllowUnconfirmed: true})
	ada := s.Person("Ada")
	group := s.Group("team", ada)
	said := group.Say(ada, "hello")
	group.KickBot(ada)
	ada.Open().Block()
	ids := poll(t, s, params{})
	if len(ids) != 4 || ids[1] != said.UpdateID {
		t.Errorf("got %v", ids)
	}
}

type sentUpdate struct {
	ID      int64 `json:"update_id"`
	Message struct {
		ID   int64 `json:"message_id"`
		From struct {
			ID int64 `json:"id"`
		} `json:"from"`
		Chat struct {
			ID   int64  `json:"id"`
			Type string `json:"type"`
		} `json:"chat"`
		Date     int64                 `json:"date"`
		Text     string                `json:"text"`
		Entities []telegramfake.Entity `json:"entities"`
	} `json:"message"`
	Callback struct {
		ID       string `json:"id"`
		Data     string `json:"data"`
		Instance string `json:"chat_instance"`
		Message  struct {
			ID   int64  `json:"message_id"`
			Date int64  `json:"date"`
			Text string `json:"text"`
		} `json:"message"`
	} `json:"callback_query"`
}

// oneUpdate confirms all before id and reads the update with that id.
func oneUpdate(t *testing.T, s *telegramfake.Server, id int64) sentUpdate {
	t.Helper()
	var all []sentUpdate
	if err := json.Unmarshal(call(t, s, "getUpdates", params{"offset": id, "limit": 1}).Result, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].ID != id {
		t.Fatalf("got %+v instead of update %d", all, id)
	}
	return all[0]
}
