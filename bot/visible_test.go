package bot_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"holm/bot"
)

func TestVisibleSpellsOutWhatCannotBeSeen(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"plain":                   {"rm -rf /tmp/x", "rm -rf /tmp/x"},
		"newline and tab stay":    {"a\n\tb", "a\n\tb"},
		"right-to-left override":  {"pay \u202egro.live", "pay U+202Egro.live"},
		"isolates":                {"\u2066a\u2069", "U+2066aU+2069"},
		"arabic letter mark":      {"a\u061cb", "aU+061Cb"},
		"zero width":              {"ad\u200bmin\u2060\ufeff", "adU+200BminU+2060U+FEFF"},
		"joiner between letters":  {"a\u200db", "aU+200Db"},
		"soft hyphen":             {"a\u00adb", "aU+00ADb"},
		"control characters":      {"a\x00\r\x1b[31m\x7f", "aU+0000U+000DU+001B[31mU+007F"},
		"line separator":          {"a\u2028b", "aU+2028b"},
		"odd spaces":              {"a\u00a0b\u3000c", "aU+00A0bU+3000c"},
		"tags":                    {"x\U000E0041\U000E007F", "xU+E0041U+E007F"},
		"selector on a letter":    {"a\ufe0f", "aU+FE0F"},
		"second selector":         {"❤\ufe0f\ufe0f", "❤\ufe0fU+FE0F"},
		"supplementary selectors": {"😀\U000E0100", "😀U+E0100"},
		"blank letters":           {"\u3164\u115f\uffa0\u2800", "U+3164U+115FU+FFA0U+2800"},
		"grapheme joiner":         {"a\u034fb", "aU+034Fb"},
		"private use":             {"\ue000", "U+E000"},
		"emoji":                   {"🔐 ok 👍🏽", "🔐 ok 👍🏽"},
		"joined emoji":            {"👩\u200d👩\u200d👧 🏳️\u200d🌈", "👩\u200d👩\u200d👧 🏳️\u200d🌈"},
		"keycap":                  {"1️⃣", "1️⃣"},
		"selector on a digit":     {"1\ufe0f", "1U+FE0F"},
		"dangling joiner":         {"👩\u200d", "👩U+200D"},
		"other scripts":           {"שלום Привет 你好 é नमस्ते", "שלום Привет 你好 é नमस्ते"},
		"stacked marks":           {"a" + strings.Repeat("\u0301", 6), "a" + strings.Repeat("\u0301", 4) + "U+0301U+0301"},
		"not UTF-8":               {"a\xffb", "a\ufffdb"},
		"lone NUL after emoji":    {"👩\u200d\x00", "👩U+200DU+0000"},
		"keycap without a base":   {"\ufe0f\u20e3", "U+FE0F\u20e3"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := bot.Visible(c.in); got != c.want {
				t.Errorf("Visible(%+q) = %+q, want %+q", c.in, got, c.want)
			}
		})
	}
}

func TestVisibleLineCannotStartANewLine(t *testing.T) {
	if got := bot.VisibleLine("x\nWhy: trusted\u2028y"); got != "x↵Why: trustedU+2028y" {
		t.Errorf("got %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb👩\u200d👧\ufe0f\xff")
	f.Fuzz(func(t *testing.T, s string) {
		once := bot.Visible(s)
		if !utf8.ValidString(once) {
			t.Fatalf("not UTF-8: %q", once)
		}
		if twice := bot.Visible(once); twice != once {
			t.Fatalf("changed again: %q, then %q", once, twice)
		}
		if strings.ContainsAny(once, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\x00\r") {
			t.Fatalf("still hidden: %q", once)
		}
	})
}
