package discord

import (
	"strings"
	"unicode/utf16"

	"holm/bot"
)

// escaper makes plain what Discord would read as formatting, a mention, an
// emoji, a time or a link. A backslash before punctuation is not shown.
var escaper = func() *strings.Replacer {
	var pairs []string
	for _, r := range "\\`*_~|<>#-+[]():@" {
		pairs = append(pairs, string(r), `\`+string(r))
	}
	return strings.NewReplacer(pairs...)
}()

func escape(s string) string { return escaper.Replace(s) }

// code shows a value in fixed width, where nothing in it has a meaning. One that
// a code span cannot hold as it is, is escaped instead.
func code(s string) string {
	if s == "" || strings.ContainsAny(s, "`\n") || strings.TrimSpace(s) != s {
		return escape(s)
	}
	return "`" + s + "`"
}

// indented makes a value visible and marks its further lines, so that none can
// pass for a line of the card. The mark is short: see Limits.
func indented(s string) string {
	return strings.ReplaceAll(bot.Visible(s), "\n", "\n│")
}

// quoted is indented between quotation marks that the value cannot close.
func quoted(s string) string {
	return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(indented(s)) + "”"
}

// units counts a text as Discord's strictest reading of "characters".
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// line is text on one line of at most n units, the last of which is then an
// ellipsis.
func line(text string, n int) string {
	text = bot.VisibleLine(text)
	if units(text) <= n {
		return text
	}
	runes := []rune(text)
	fit, used := 0, 0
	for fit < len(runes) && used+utf16.RuneLen(runes[fit]) < n {
		used += utf16.RuneLen(runes[fit])
		fit++
	}
	return string(bot.Whole(runes[:fit], runes[fit:])) + "…"
}
