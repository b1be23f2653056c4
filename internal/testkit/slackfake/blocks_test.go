package slackfake_test

import (
	"fmt"
	"strings"
	"testing"

	"holm/internal/testkit/slackfake"
)

type obj = map[string]any

func text(s string) obj    { return obj{"type": "plain_text", "text": s} }
func section(s string) obj { return obj{"type": "section", "text": text(s)} }

func button(id, label, value string) obj {
	return obj{"type": "button", "action_id": id, "text": text(label), "value": value}
}

func repeat(n int, of func(int) any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = of(i)
	}
	return list
}

func TestBlocks(t *testing.T) {
	x := func(n int) string { return strings.Repeat("é", n) }
	actions := func(elements ...any) obj { return obj{"type": "actions", "elements": elements} }
	buttons := func(n int) []any {
		return repeat(n, func(i int) any { return button(fmt.Sprint(i), "b", "v") })
	}
	tests := map[string]struct {
		blocks any
		want   string // of the first problem; empty when the blocks are good
	}{
		"all kinds":        {[]any{obj{"type": "header", "text": text(x(150))}, section(x(3000)), obj{"type": "divider"}, obj{"type": "context", "elements": repeat(10, func(int) any { return text("c") })}, actions(buttons(25)...), obj{"type": "markdown", "text": "# h"}}, ""},
		"long header":      {[]any{obj{"type": "header", "text": text(x(151))}}, "must be less than 151 characters [json-pointer:/blocks/0/text/text]"},
		"header in mrkdwn": {[]any{obj{"type": "header", "text": obj{"type": "mrkdwn", "text": "x"}}}, "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]"},
		"long section":     {[]any{section(x(3001))}, "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"},
		"empty section":    {[]any{section("")}, "must be more than 0 characters [json-pointer:/blocks/0/text/text]"},
		"bare section":     {[]any{obj{"type": "section"}}, "missing required field [json-pointer:/blocks/0/text]"},
		"11 fields":        {[]any{obj{"type": "section", "fields": repeat(11, func(int) any { return text("f") })}}, "no more than 10 items allowed [json-pointer:/blocks/0/fields]"},
		"long field":       {[]any{obj{"type": "section", "fields": []any{text("f"), text(x(2001))}}}, "must be less than 2001 characters [json-pointer:/blocks/0/fields/1/text]"},
		"51 blocks":        {repeat(51, func(int) any { return section("x") }), "no more than 50 items allowed [json-pointer:/blocks]"},
		"26 buttons":       {[]any{actions(buttons(26)...)}, "no more than 25 items allowed [json-pointer:/blocks/0/elements]"},
		"no buttons":       {[]any{actions()}, "no fewer than 1 items allowed [json-pointer:/blocks/0/elements]"},
		"11 in a context":  {[]any{obj{"type": "context", "elements": repeat(11, func(int) any { return text("c") })}}, "no more than 10 items allowed [json-pointer:/blocks/0/elements]"},
		"long label":       {[]any{actions(button("a", x(76), "v"))}, "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]"},
		"long value":       {[]any{actions(button("a", "b", x(2001)))}, "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]"},
		"long action_id":   {[]any{actions(button(x(256), "b", "v"))}, "must be less than 256 characters [json-pointer:/blocks/0/elements/0/action_id]"},
		"same action_id":   {[]any{actions(button("a", "b", "v")), actions(button("a", "b", "v"))}, "`action_id` already exists [json-pointer:/blocks/1/elements/0/action_id]"},
		"same block_id":    {[]any{obj{"type": "divider", "block_id": "d"}, obj{"type": "divider", "block_id": "d"}}, "`block_id` already exists [json-pointer:/blocks/1/block_id]"},
		"odd style":        {[]any{actions(obj{"type": "button", "text": text("b"), "style": "loud"})}, "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]"},
		"odd field":        {[]any{obj{"type": "divider", "tune": 1}}, "invalid additional property: tune [json-pointer:/blocks/0]"},
		"odd kind":         {[]any{obj{"type": "song"}}, "unsupported type: song [json-pointer:/blocks/0/type]"},
		"emoji in mrkdwn":  {[]any{obj{"type": "section", "text": obj{"type": "mrkdwn", "text": "x", "emoji": true}}}, "invalid additional property: emoji [json-pointer:/blocks/0/text]"},
		"a confirm dialog": {[]any{actions(obj{"type": "button", "text": text("b"), "confirm": obj{"title": text(x(101)), "text": text("t"), "confirm": text("y"), "deny": text("n")}})}, "must be less than 101 characters [json-pointer:/blocks/0/elements/0/confirm/title/text]"},
		"a string":         {[]any{"x"}, "must be an object [json-pointer:/blocks/0]"},
	}
	s := slackfake.New(t, slackfake.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := call(t, s, "chat.postMessage", "channel", s.Person("ann").Chat(), "blocks", jsonOf(tt.blocks))
			if tt.want == "" {
				if got.code() != "" {
					t.Errorf("refused: %v", got)
				}
				return
			}
			problems, _ := got["errors"].([]any)
			if got.code() != "invalid_blocks" || len(problems) == 0 || problems[0] != tt.want {
				t.Errorf("answer %v", got)
			}
			metadata, _ := got["response_metadata"].(map[string]any)
			if messages := fmt.Sprint(metadata["messages"]); !strings.Contains(messages, "[ERROR] "+tt.want) {
				t.Errorf("messages %s", messages)
			}
		})
	}
}

func TestAllBlocksTogether(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	chat := s.Person("ann").Chat()
	for n, want := range map[int]string{2640: "", 2641: "msg_blocks_too_long"} {
		blocks := repeat(5, func(int) any { return section(strings.Repeat("x", n)) })
		if got := call(t, s, "chat.postMessage", "channel", chat, "blocks", jsonOf(blocks)); got.code() != want {
			t.Errorf("five sections of %d: %v", n, got.code())
		}
	}
	if got := call(t, s, "chat.postMessage", "channel", chat, "blocks", "{oops"); got.code() != "invalid_blocks_format" {
		t.Errorf("broken JSON: %v", got)
	}
}
