package telegramfake_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holm/internal/testkit/telegramfake"
)

func TestWhatTelegramWouldIgnoreFailsTheTest(t *testing.T) {
	s, r := recorded(t, telegramfake.Options{})
	ada := s.Person("Ada").Open()
	text := func(more params) params {
		p := params{"chat_id": ada.ID, "text": "hi"}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	keys := func(buttons ...any) params {
		return text(params{"reply_markup": params{"inline_keyboard": []any{buttons}}})
	}
	spans := func(all ...params) params { return text(params{"text": "h😀i", "entities": all}) }
	span := func(kind string, at, length int) params { return params{"type": kind, "offset": at, "length": length} }
	row := make([]any, 9)
	for i := range row {
		row[i] = params{"text": "b", "callback_data": "x"}
	}
	for name, c := range map[string]struct {
		method string
		params params
		want   string
	}{
		"unknown parameter":      {"sendMessage", text(params{"disable_web_page_preview": true}), `no parameter "disable_web_page_preview"`},
		"parameter not played":   {"sendMessage", text(params{"direct_messages_topic_id": 5}), `"direct_messages_topic_id" is not played`},
		"not a number":           {"getUpdates", params{"timeout": "soon", "offset": -1}, `"timeout" is not a int`},
		"not a truth value":      {"sendMessage", text(params{"disable_notification": "yes"}), `is not a bool`},
		"unknown method":         {"sendVoice", params{}, `the method "sendVoice" is not played`},
		"MarkdownV2":             {"sendMessage", text(params{"parse_mode": "MarkdownV2"}), `not played`},
		"unknown button field":   {"sendMessage", keys(params{"text": "b", "callback_data": "x", "color": "red"}), `no field "color"`},
		"two actions":            {"sendMessage", keys(params{"text": "b", "callback_data": "x", "copy_text": params{"text": ""}}), `several actions`},
		"unknown style":          {"sendMessage", keys(params{"text": "b", "callback_data": "x", "style": "red"}), `unknown style`},
		"entity beyond the text": {"sendMessage", spans(span("bold", 2, 3)), `spans 2 to 5 of 4 units`},
		"entity before the text": {"sendMessage", spans(span("bold", -1, 3)), `spans -1 to 2`},
		"empty entity":           {"sendMessage", spans(span("bold", 1, 0)), `spans 1 to 1`},
		"entity in a character":  {"sendMessage", spans(span("bold", 0, 2)), `parts a character`},
		"crossed entities":       {"sendMessage", spans(span("bold", 0, 3), span("italic", 1, 3)), `may not meet like this`},
		"quote in a quote":       {"sendMessage", spans(span("blockquote", 0, 4), span("expandable_blockquote", 1, 2)), `may not meet like this`},
		"bold in code":           {"sendMessage", spans(span("code", 0, 4), span("bold", 0, 1)), `may not meet like this`},
		"entity of no kind":      {"sendMessage", spans(span("loud", 0, 1)), `the type "loud" is not played`},
		"unknown entity field":   {"sendMessage", spans(params{"type": "bold", "offset": 0, "length": 1, "tune": 1}), `no field "tune"`},
		"entities and a mode":    {"sendMessage", text(params{"parse_mode": "HTML", "entities": []params{span("bold", 0, 1)}}), `ignored beside a parse_mode`},
		"text that is changed":   {"sendMessage", text(params{"text": "a\u202eb", "entities": []params{span("bold", 0, 1)}}), `drops or changes`},
		"too many in a row":      {"sendMessage", keys(row...), `9 buttons in one row`},
		"dropping pending taps":  {"deleteWebhook", params{"drop_pending_updates": true}, `never be dropped`},
		"unknown kind of update": {"getUpdates", params{"allowed_updates": []string{"mesage"}, "offset": -1, "timeout": 0}, `"mesage" is not played`},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "unknown kind of update" || name == "not a number" {
				ada.Say("so that the poll ends at once")
			}
			call(t, s, c.method, c.params)
			if got := r.complaints(); !strings.Contains(got, c.want) {
				t.Errorf("complained %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatIsLeftUndoneFailsTheTest(t *testing.T) {
	for name, c := range map[string]struct {
		options telegramfake.Options
		do      func(s *telegramfake.Server, ada *telegramfake.Person)
		want    string
	}{
		"update": {telegramfake.Options{}, func(_ *telegramfake.Server, ada *telegramfake.Person) {
			ada.Say("hi")
		}, "(message) was never confirmed"},
		"tap": {telegramfake.Options{AllowUnconfirmed: true}, func(s *telegramfake.Server, ada *telegramfake.Person) {
			call(t, s, "sendMessage", params{"chat_id": ada.ID, "text": "hi", "reply_markup": params{"inline_keyboard": []any{[]any{params{"text": "ok", "callback_data": "x"}}}}})
			ada.Click(s.Transcript(ada.ID)[0], "ok")
		}, "was never answered"},
		"fault": {telegramfake.Options{}, func(s *telegramfake.Server, _ *telegramfake.Person) {
			s.Inject(telegramfake.Fault{Method: "sendMessage", Drop: true})
		}, "was never met"},
		"missing button": {telegramfake.Options{}, func(s *telegramfake.Server, ada *telegramfake.Person) {
			call(t, s, "sendMessage", params{"chat_id": ada.ID, "text": "hi"})
			ada.Click(s.Transcript(ada.ID)[0], "ok")
		}, `no button "ok"`},
		"foreign chat": {telegramfake.Options{}, func(s *telegramfake.Server, ada *telegramfake.Person) {
			call(t, s, "sendMessage", params{"chat_id": ada.ID, "text": "hi"})
			s.Person("Eve").ClickForged(s.Transcript(ada.ID)[0], "x")
		}, "is not in chat"},
		"vain wait": {telegramfake.Options{Patience: time.Millisecond}, func(s *telegramfake.Server, ada *telegramfake.Person) {
			s.WaitMessage(ada.ID, nil)
		}, "in vain for a message"},
		"nothing": {telegramfake.Options{}, func(*telegramfake.Server, *telegramfake.Person) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := recorded(t, c.options)
			c.do(s, s.Person("Ada").Open())
			s.Close()
			if got := r.complaints(); !strings.Contains(got, c.want) || (c.want == "" && got != "") {
				t.Errorf("complained %q, want %q", got, c.want)
			}
		})
	}
}

// The tables are checked against the published API where its description is at
// hand beside the repository.
func TestTablesMatchThePublishedAPI(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "data", "telegram-bot-api.json"))
	if os.IsNotExist(err) {
		t.Log("no description of the API here, nothing to compare with")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	type field struct {
		Name     string   `json:"name"`
		Types    []string `json:"types"`
		Required bool     `json:"required"`
	}
	type entry struct {
		Fields   []field  `json:"fields"`
		Subtypes []string `json:"subtypes"`
	}
	var api struct {
		Methods map[string]entry `json:"methods"`
		Types   map[string]entry `json:"types"`
	}
	if err := json.Unmarshal(raw, &api); err != nil {
		t.Fatal(err)
	}
	// A union has the fields of all its types.
	for name, union := range api.Types {
		for _, sub := range union.Subtypes {
			for _, f := range api.Types[sub].Fields {
				if !slices.ContainsFunc(union.Fields, func(have field) bool { return have.Name == f.Name }) {
					union.Fields = append(union.Fields, f)
				}
			}
		}
		api.Types[name] = union
	}
	spell := func(f field, kinds bool) string {
		if !kinds {
			return f.Name
		}
		required := map[bool]string{true: "!"}[f.Required]
		return f.Name + ":" + kindOf(strings.Join(f.Types, "|")) + required
	}
	compare := func(what string, have map[string]string, want map[string]entry, kinds bool) {
		for name, list := range have {
			wanted, ok := want[name]
			if !ok {
				t.Errorf("the API has no %s %s", what, name)
			}
			var words []string
			for _, f := range wanted.Fields {
				words = append(words, spell(f, kinds))
			}
			if got := strings.Join(strings.Fields(list), " "); got != strings.Join(words, " ") {
				t.Errorf("%s %s:\n have %s\n want %s", what, name, got, strings.Join(words, " "))
			}
		}
	}
	compare("method", telegramfake.MethodParameters, api.Methods, true)
	compare("type", telegramfake.ObjectFields, api.Types, false)
}

func kindOf(types string) string {
	switch {
	case types == "Integer":
		return "int"
	case types == "Boolean":
		return "bool"
	case types == "String":
		return "string"
	case types == "Integer|String":
		return "id"
	case strings.Contains(types, "InputFile"):
		return "file"
	}
	return "json"
}
