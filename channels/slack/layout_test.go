package slack_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holm/bot"
	"holm/internal/testkit/slackfake"
)

// many repeats a thing.
func many[T any](n int, item func(int) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = item(i)
	}
	return list
}

func TestEveryCardFits(t *testing.T) {
	long := strings.Repeat("wörter <&> 😀 ", 2000)
	arg := func(int) bot.Arg { return bot.Arg{Name: "argument", Value: "value"} }
	longArg := func(i int) bot.Arg { return bot.Arg{Name: fmt.Sprint("a", i, long), Value: long, Cut: 5} }
	fact := func(int) bot.Fact { return bot.Fact{Label: long, Value: long, Quote: true} }
	button := func(i int) bot.Button { return bot.Button{Label: long, Token: strings.Repeat("x", 64)} }
	rows := [][]bot.Button{many(5, button), many(30, button), {{Token: "t"}}}
	cards := map[string]bot.Card{
		"long message":   {Head: long},
		"long line":      {Head: strings.Repeat("x", 40_000)},
		"lines":          {Head: strings.Repeat("a line of help\n", 500)},
		"small":          card(),
		"no head":        {Notes: []string{"a note"}},
		"long head":      {Head: long, Buttons: rows},
		"150 head":       {Head: strings.Repeat("é", 150), Buttons: rows},
		"many arguments": {Head: "h", Args: many(400, arg), Buttons: rows},
		"60 arguments":   {Head: "h", Args: many(60, arg), Buttons: rows},
		"long arguments": {Head: "h", Args: many(8, longArg), Buttons: rows},
		"all of it": {
			Head: long, Facts: many(30, fact), Args: many(300, longArg),
			Notes: many(40, func(int) string { return long }), Buttons: rows,
		},
		"empty values": {Head: "h", Facts: []bot.Fact{{}}, Args: []bot.Arg{{}}, Notes: []string{"", " "}, Buttons: rows},
	}
	s := idle(t, slackfake.Options{})
	for name, c := range cards {
		t.Run(name, func(t *testing.T) {
			ref := mustSend(t, s.Channel, bot.Recipient{Identity: s.fake.Person("ann").Identity()}, c)
			if err := s.Update(t.Context(), ref, c); err != nil {
				t.Errorf("update: %v", err)
			}
		})
	}
	for _, call := range s.fake.Calls("") {
		if call.Error != "" {
			t.Errorf("%s was refused: %s", call.Method, call.Error)
		}
	}
}

func TestAnyCardFits(t *testing.T) {
	s := idle(t, slackfake.Options{})
	text := rapid.OneOf(rapid.String(), rapid.StringN(0, 5000, 9000), rapid.Just("<&>\u202e\n"))
	rapid.Check(t, func(t *rapid.T) {
		c := bot.Card{Head: text.Draw(t, "head")}
		for range rapid.IntRange(0, 20).Draw(t, "facts") {
			c.Facts = append(c.Facts, bot.Fact{Label: text.Draw(t, "label"), Value: text.Draw(t, "value")})
		}
		for range rapid.IntRange(0, 70).Draw(t, "args") {
			c.Args = append(c.Args, bot.Arg{Name: text.Draw(t, "name"), Value: text.Draw(t, "value"), Cut: rapid.IntRange(0, 9).Draw(t, "cut")})
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			c.Buttons = append(c.Buttons, []bot.Button{{Label: text.Draw(t, "button"), Token: "t"}})
		}
		if strings.TrimSpace(c.Head) == "" {
			c.Head = "h"
		}
		if _, err := s.Send(t.Context(), bot.Recipient{Identity: s.fake.Person("ann").Identity()}, c); err != nil {
			t.Fatal(err)
		}
		for _, call := range s.fake.Calls("chat.postMessage") {
			if call.Error != "" {
				t.Fatal(call.Error)
			}
		}
	})
}

func TestCutsAreTold(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	c := bot.Card{
		Head: "Approval needed",
		Args: []bot.Arg{
			{Name: "cut before", Value: "abc", Cut: 41},
			{Name: "long", Value: strings.Repeat("\u202e", 5000), Cut: 7},
			{Name: "last", Value: "still here"},
		},
	}
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, c)
	lines := strings.Split(ann.Messages()[0].Shown(), "\n")
	if lines[1] != "cut before: abc… (41 more characters)" || lines[3] != "last: still here" {
		t.Errorf("lines %q", lines)
	}
	marks := strings.Count(lines[2], "U+202E")
	if want := fmt.Sprintf("… (%d more characters)", 5000-marks+7); !strings.HasSuffix(lines[2], want) || marks == 0 {
		t.Errorf("%d marks shown, the line ends %q", marks, lines[2][len(lines[2])-40:])
	}
}

func TestManyArgumentsTellWhatIsMissing(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	arg := func(i int) bot.Arg { return bot.Arg{Name: fmt.Sprintf("a%03d", i), Value: "v"} }
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, bot.Card{Head: "h", Args: many(600, arg)})
	lines := strings.Split(ann.Messages()[0].Shown(), "\n")[1:]
	missing := 600 - (len(lines) - 1)
	if got, want := lines[len(lines)-1], fmt.Sprintf("… %d more lines are not shown", missing); got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
}

func TestRendererIsToldWhatFits(t *testing.T) {
	s := idle(t, slackfake.Options{})
	limits := s.Limits()
	ann := s.fake.Person("ann")
	c := bot.Card{Head: "h"}
	for left := limits.Total; left > 0; left -= limits.Value {
		name := fmt.Sprint("value ", left)
		value := strings.Repeat("x", min(left, limits.Value)-len(name))
		c.Args = append(c.Args, bot.Arg{Name: name, Value: value})
	}
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, c)
	if shown := ann.Messages()[0].Shown(); strings.Contains(shown, "more") {
		t.Error("a card within the limits was cut")
	}
}
