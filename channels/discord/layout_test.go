package discord_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"holm/bot"
	"holm/channels/discord"
	"holm/internal/testkit/discordfake"
)

// What callers write is shown as it is and means nothing.
func TestCallerTextIsInert(t *testing.T) {
	s := idle(t, discordfake.Options{})
	for _, evil := range []string{
		"@everyone", "<@123>", "<@&9> <#8>", "[ok](https://evil.example)", "https://evil.example", "<t:1:R> <:a:1>", "**bold** _it_ ~~x~~ ||y||",
		"`code` ``x``", "```\nblock\n```", "\\", "\\\\`", "# head", "-# small", "> quote", "- list", "*", "`", "a`b", " spaced ",
	} {
		c := card()
		c.Head, c.Facts[0].Value, c.Facts[1].Value, c.Args[0].Value, c.Args[1].Name, c.Notes[0] = evil, evil, evil, evil, evil, evil
		_, m := s.send(t, c)
		visible := strings.ReplaceAll(evil, "\n", "\n│")
		oneLine := strings.ReplaceAll(evil, "\n", "↵")
		contains(t, m.Shown(), oneLine+"\n", "Requester: "+visible, "“"+visible+"”", "amount: "+visible, oneLine+": for the broken lamp")
		plain := bot.Card{Head: evil}
		if _, m := s.send(t, plain); strings.TrimSuffix(m.Shown(), "\n") != evil {
			t.Errorf("%q is shown as %q", evil, m.Shown())
		}
		for _, raw := range []string{m.Content, m.Description} {
			if active(raw) {
				t.Errorf("%q has a meaning in %q", evil, raw)
			}
		}
	}
}

// active tells whether Discord would find a mention, a link or an emoji in raw,
// outside of code spans.
func active(raw string) bool {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '`':
			end := strings.IndexByte(raw[i+1:], '`')
			if end < 0 {
				return true
			}
			i += end + 1
		case '<', '[', '@':
			return true
		case ':':
			if strings.HasPrefix(raw[i:], "://") {
				return true
			}
		}
	}
	return false
}

func TestInvisibleCharactersAreShown(t *testing.T) {
	s := idle(t, discordfake.Options{})
	c := card()
	c.Args[0] = bot.Arg{Name: "na\u202eme", Value: "a\u202eb\u200bc"}
	_, m := s.send(t, c)
	contains(t, m.Shown(), "naU+202Eme: aU+202EbU+200Bc")
}

func TestCutsAreTold(t *testing.T) {
	s := idle(t, discordfake.Options{})
	c := card()
	c.Args = []bot.Arg{{Name: "long", Value: strings.Repeat("x", 9000), Cut: 7}, {Name: "short", Value: "whole"}}
	_, m := s.send(t, c)
	contains(t, m.Shown(), "more characters", "short: whole", "at once.")
	kept := strings.Count(m.Shown(), "x")
	contains(t, m.Shown(), fmt.Sprintf("… %d more characters", 9000-kept+7))
	c.Args = nil
	for i := range 900 {
		c.Args = append(c.Args, bot.Arg{Name: fmt.Sprint("n", i), Value: "v"})
	}
	_, m = s.send(t, c)
	contains(t, m.Shown(), "n0: v", "more arguments do not fit here", "at once.")
}

// What the renderer may put into one plain message is never cut, whatever it is.
func TestPlainMessageOfFullLengthIsWhole(t *testing.T) {
	s := idle(t, discordfake.Options{})
	text := strings.Repeat("*", s.Limits().Total)
	if _, m := s.send(t, bot.Card{Head: text}); strings.TrimSpace(m.Shown()) != text {
		t.Errorf("cut to %d of %d", strings.Count(m.Shown(), "*"), len(text))
	}
}

func TestAnyCardFits(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("a*`\\\n@:<[ é😀\u202e\u0301")), 0, 5000, -1)
	rapid.Check(t, func(t *rapid.T) {
		c := bot.Card{Head: "h" + text.Draw(t, "head")}
		for range rapid.IntRange(0, 30).Draw(t, "facts") {
			c.Facts = append(c.Facts, bot.Fact{Label: text.Draw(t, "label"), Value: text.Draw(t, "value"), Code: rapid.Bool().Draw(t, "code")})
		}
		for range rapid.IntRange(0, 50).Draw(t, "args") {
			c.Args = append(c.Args, bot.Arg{Name: text.Draw(t, "name"), Value: text.Draw(t, "arg")})
		}
		c.Notes = rapid.SliceOfN(text, 0, 5).Draw(t, "notes")
		got := discord.LayOut(c)
		if length(got.Content()) > 2000 || length(got.Description()) > 4096 || got.Content()+got.Description() == "" {
			t.Fatalf("content %d, description %d", length(got.Content()), length(got.Description()))
		}
	})
}

// What the renderer takes for whole is whole: else an approval of arguments that
// cannot be read would be offered.
func TestWhatTheLimitsAllowIsWhole(t *testing.T) {
	limit := idle(t, discordfake.Options{}).Limits()
	runes := rapid.RuneFrom([]rune("*`\n😀a@é"))
	rapid.Check(t, func(t *rapid.T) {
		c := bot.Card{Head: "head", Facts: []bot.Fact{{Label: "Why", Value: "because"}}, Buttons: card().Buttons}
		long := rapid.SampledFrom([]int{1, 3, 50, limit.Value}).Draw(t, "length")
		for room := limit.Total - 120; ; {
			a := bot.Arg{Name: rapid.StringOfN(runes, 1, 3, -1).Draw(t, "name"), Value: rapid.StringOfN(runes, long, long, -1).Draw(t, "value")}
			a.Name = strings.ReplaceAll(a.Name, "\n", "↵")
			if room -= len([]rune(a.Name)) + long + 3; room < 0 {
				break
			}
			c.Args = append(c.Args, a)
		}
		if got := discord.LayOut(c).Description(); strings.Contains(got, "more characters") || strings.Contains(got, "more arguments") {
			t.Fatalf("cut: %s", got)
		}
	})
}

func length(s string) int { return len(utf16.Encode([]rune(s))) }

func TestButtons(t *testing.T) {
	s := idle(t, discordfake.Options{})
	c := card()
	c.Buttons = nil
	for i := range 8 { // rows of two are too many, so they are filled up
		c.Buttons = append(c.Buttons, []bot.Button{{Label: strings.Repeat("l", 90), Token: fmt.Sprint("a", i)}, {Token: fmt.Sprint("b", i)}})
	}
	if _, m := s.send(t, c); len(m.Buttons) != 16 || m.Buttons[1].CustomID != "b0" || m.Buttons[1].Style != 2 {
		t.Errorf("got %+v", m.Buttons)
	}
	for name, rows := range map[string][][]bot.Button{
		"no data": {{{Label: "x"}}}, "long data": {{{Label: "x", Token: strings.Repeat("x", 101)}}},
		"too many": {make([]bot.Button, 26)},
	} {
		c.Buttons = rows
		if _, err := s.Send(t.Context(), s.to(), c); err == nil {
			t.Errorf("%s: was sent", name)
		}
	}
}
