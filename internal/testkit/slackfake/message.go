package slackfake

import (
	"encoding/json"
	"strings"
)

// Message is one message as it is now. Earlier are the blocks it had before
// its edits, the oldest first.
type Message struct {
	Channel, TS, ThreadTS string
	// User wrote it; BotID and App are set on messages of an app.
	User, BotID, App string
	Text             string
	Blocks           []json.RawMessage
	Earlier          [][]json.RawMessage
	Deleted          bool
	// File is the name of the file that the message carries, Data its content.
	File, Data string
}

// Button is a button of a message.
type Button struct {
	BlockID, ActionID, Label, Value, Style string
}

// element is what is read of blocks and of what they hold.
type element struct {
	Type     string            `json:"type"`
	BlockID  string            `json:"block_id"`
	ActionID string            `json:"action_id"`
	Text     json.RawMessage   `json:"text"`
	Value    string            `json:"value"`
	Style    string            `json:"style"`
	Fields   []json.RawMessage `json:"fields"`
	Elements []json.RawMessage `json:"elements"`
	Label    json.RawMessage   `json:"label"`
}

func parse(raw json.RawMessage) element {
	var e element
	_ = json.Unmarshal(raw, &e)
	return e
}

// textOf is the text of a text object, or of a string.
func textOf(raw json.RawMessage) string {
	var object struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Text
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// Buttons are the buttons a person sees on m.
func (m Message) Buttons() []Button { return buttonsOf(m.Blocks) }

func buttonsOf(blocks []json.RawMessage) []Button {
	var buttons []Button
	for _, raw := range blocks {
		block := parse(raw)
		for _, inner := range block.Elements {
			if e := parse(inner); e.Type == "button" {
				buttons = append(buttons, Button{block.BlockID, e.ActionID, textOf(e.Text), e.Value, e.Style})
			}
		}
	}
	return buttons
}

// Shown is the text a person reads on m, a line for each text, without the
// labels of buttons. The fallback text counts when there are no blocks.
func (m Message) Shown() string {
	if len(m.Blocks) == 0 {
		return m.Text
	}
	var lines []string
	for _, raw := range m.Blocks {
		block := parse(raw)
		if len(block.Text) > 0 {
			lines = append(lines, textOf(block.Text))
		}
		if len(block.Label) > 0 {
			lines = append(lines, textOf(block.Label))
		}
		for _, field := range block.Fields {
			lines = append(lines, textOf(field))
		}
		for _, inner := range block.Elements {
			if e := parse(inner); e.Type != "button" {
				lines = append(lines, textOf(inner))
			}
		}
	}
	return strings.Join(lines, "\n")
}
