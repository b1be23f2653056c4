package telegramfake

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const (
	maxData    = 64     // bytes, #inlinekeyboardbutton
	maxButtons = 100    // in all; reported by users, not documented
	maxRow     = 8      // likewise
	maxMarkup  = 10_000 // bytes; likewise

	maxPlaceholder = 64 // characters, #forcereply
	buttonStyles   = `danger success primary`
)

// Button of an inline keyboard.
type Button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	URL   string `json:"url,omitempty"`
	Style string `json:"style,omitempty"`
}

// keyboard reads reply_markup; empty means none.
func (s *Server) keyboard(raw string) ([][]Button, error) {
	if raw == "" || raw == "{}" || raw == "null" {
		return nil, nil
	}
	var markup struct {
		Rows json.RawMessage `json:"inline_keyboard"`
	}
	if json.Unmarshal([]byte(raw), &markup) != nil {
		return nil, badRequest("can't parse reply keyboard markup JSON object")
	}
	s.checkFields("InlineKeyboardMarkup", json.RawMessage(raw))
	if markup.Rows == nil {
		return nil, badRequest("object expected as reply markup")
	}
	var rows [][]json.RawMessage
	if string(markup.Rows) == "null" || json.Unmarshal(markup.Rows, &rows) != nil {
		return nil, badRequest("can't parse inline keyboard: field \"inline_keyboard\" must be of type Array of Array")
	}
	return s.rows(rows, len(raw))
}

// forceReply reads reply_markup as a ForceReply; false means that it is none.
func (s *Server) forceReply(raw string) (bool, error) {
	var markup struct {
		Force       json.RawMessage `json:"force_reply"`
		Placeholder *string         `json:"input_field_placeholder"`
	}
	if json.Unmarshal([]byte(raw), &markup) != nil || markup.Force == nil {
		return false, nil
	}
	s.checkFields("ForceReply", json.RawMessage(raw))
	if p := markup.Placeholder; p != nil && (*p == "" || utf8.RuneCountInString(*p) > maxPlaceholder) {
		s.t.Errorf("telegramfake: a placeholder has 1 to %d characters, not %q", maxPlaceholder, *p)
	}
	return string(markup.Force) == "true", nil
}

func (s *Server) rows(rows [][]json.RawMessage, size int) ([][]Button, error) {
	var all [][]Button
	count := 0
	for _, row := range rows {
		var buttons []Button
		for _, raw := range row {
			b, err := s.button(raw)
			if err != nil {
				return nil, err
			}
			buttons = append(buttons, b)
		}
		if len(buttons) > maxRow {
			s.t.Errorf("telegramfake: %d buttons in one row: apps show at most %d", len(buttons), maxRow)
		}
		if count += len(buttons); len(buttons) > 0 {
			all = append(all, buttons)
		}
	}
	if count > maxButtons || size > maxMarkup {
		return nil, badRequest("reply markup is too long")
	}
	return all, nil
}

// button reads one button, which must have a text and exactly one action.
func (s *Server) button(raw json.RawMessage) (Button, error) {
	var fields map[string]json.RawMessage
	var b Button
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(raw, &b) != nil {
		return b, badRequest("can't parse inline keyboard button: InlineKeyboardButton must be an Object")
	}
	s.checkFields("InlineKeyboardButton", raw)
	switch {
	case strings.TrimSpace(b.Text) == "":
		return b, badRequest("can't parse inline keyboard button: Can't find field \"text\"")
	case actions(fields) == 0:
		return b, badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
	case fields["callback_data"] != nil && (len(b.Data) < 1 || len(b.Data) > maxData):
		return b, badRequest("BUTTON_DATA_INVALID")
	}
	if actions(fields) > 1 {
		s.t.Errorf("telegramfake: the button %q has several actions, Telegram would take one of them", b.Text)
	}
	if b.Style != "" && !isOneOf(b.Style, buttonStyles) {
		s.t.Errorf("telegramfake: the button %q has an unknown style %q", b.Text, b.Style)
	}
	if fields["callback_data"] == nil && fields["url"] == nil {
		s.t.Errorf("telegramfake: the action of button %q is not played by this fake", b.Text)
	}
	return b, nil
}

func actions(fields map[string]json.RawMessage) int {
	n := 0
	for name := range fields {
		if !isOneOf(name, "text style icon_custom_emoji_id") {
			n++
		}
	}
	return n
}
