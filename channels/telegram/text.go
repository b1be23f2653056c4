package telegram

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"

	"holm/bot"
)

// span is a piece of text in one format; tag is an HTML tag of the Bot API or
// empty.
type span struct{ text, tag string }

// richText is a message text. What a person sees is the same with and without
// formatting, so its length is known before it is sent.
type richText []span

// escape covers all characters with a meaning in Telegram's HTML.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// in gives the text in a parse mode: HTML or, for "", as it is.
func (t richText) in(mode models.ParseMode) string {
	var b strings.Builder
	for _, s := range t {
		if mode == "" || s.tag == "" || strings.TrimSpace(s.text) == "" {
			b.WriteString(t.escaped(s.text, mode))
			continue
		}
		b.WriteString("<" + s.tag + ">" + t.escaped(s.text, mode) + "</" + s.tag + ">")
	}
	return b.String()
}

func (t richText) escaped(s string, mode models.ParseMode) string {
	if mode == "" {
		return s
	}
	return escape.Replace(s)
}

// length is in code points, as Telegram counts them after parsing.
func (t richText) length() int {
	n := 0
	for _, s := range t {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

func (t richText) isEmpty() bool { return strings.TrimSpace(t.in("")) == "" }

// first keeps the first n characters.
func (t richText) first(n int) richText {
	var kept richText
	for _, s := range t {
		size := utf8.RuneCountInString(s.text)
		if size > n {
			return append(kept, span{text: string([]rune(s.text)[:n]), tag: s.tag})
		}
		kept = append(kept, s)
		n -= size
	}
	return kept
}

// cutTo shortens s to at most n characters, the last of which is then an
// ellipsis. It counts in UTF-16 units, the strictest reading of Telegram's
// "characters".
func cutTo(s string, n int) string {
	if units(s) <= n {
		return s
	}
	runes := []rune(s)
	fit, used := 0, 0
	for fit < len(runes) && used+utf16.RuneLen(runes[fit]) < n {
		used += utf16.RuneLen(runes[fit])
		fit++
	}
	return string(bot.Whole(runes[:fit], runes[fit:])) + "…"
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
