package telegram

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"holm/bot"
)

// Shows implements bot.Shower.
func (c *Channel) Shows(card bot.Card) bool { return fits(card, maxText) }

// fits tells whether layOut leaves nothing out.
func fits(card bot.Card, room int) bool { return render(card, whole(card)).length() <= room }

func whole(card bot.Card) cuts { return cuts{args: noCut, shown: len(card.Args), rest: noCut} }

// layOut renders a card in at most room characters as seen. The renderer has
// cut values already; when the whole is still too long, argument values are cut
// further, all to the same length, and say so; then the last arguments give way
// to a line that counts them; then everything else is cut alike.
func layOut(card bot.Card, room int) richText {
	full := render(card, whole(card))
	if full.length() <= room {
		return full
	}
	for _, step := range []struct {
		most int
		cut  func(int) cuts
	}{
		{longestArg(card), func(n int) cuts { return cuts{args: n, shown: len(card.Args), rest: noCut} }},
		{len(card.Args), func(n int) cuts { return cuts{args: shortArg, shown: n, rest: noCut} }},
		{room, func(n int) cuts { return cuts{rest: n} }},
	} {
		if t, ok := widest(card, room, step.most, step.cut); ok {
			return t
		}
	}
	return append(full.first(room-1), span{text: "…"})
}

const (
	noCut    = int(^uint(0) >> 1) // longer than any value
	shortArg = 40                 // what is shown of each when not all have room
)

// cuts say how many characters are shown of each argument and of each other
// value, and how many arguments are shown at all.
type cuts struct{ args, shown, rest int }

// widest finds the largest cut up to most that fits; ok is false if none does.
func widest(card bot.Card, room, most int, cut func(int) cuts) (t richText, ok bool) {
	narrower := sort.Search(most+1, func(i int) bool {
		return render(card, cut(most-i)).length() <= room
	})
	if narrower > most {
		return nil, false
	}
	return render(card, cut(most-narrower)), true
}

func longestArg(card bot.Card) int {
	longest := 0
	for _, a := range card.Args {
		longest = max(longest, utf8.RuneCountInString(a.Value))
	}
	return longest
}

// render writes: bold head and facts, the arguments one a line, the notes; with
// an empty line between these. A head alone is a plain message.
func render(card bot.Card, c cuts) richText {
	if len(card.Facts)+len(card.Args)+len(card.Notes) == 0 {
		return value(card.Head, 0, c.rest, bot.Visible, "")
	}
	blocks := []richText{head(card, c), arguments(card.Args, c), notes(card.Notes, c)}
	var all richText
	for _, b := range blocks {
		if len(b) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, span{text: "\n\n"})
		}
		all = append(all, b...)
	}
	return all
}

func head(card bot.Card, c cuts) richText {
	var t richText
	if card.Head != "" {
		t = append(t, value(card.Head, 0, c.rest, bot.VisibleLine, "b")...)
	}
	for _, f := range card.Facts {
		if len(t) > 0 {
			t = append(t, span{text: "\n"})
		}
		t = append(t, fact(f, c)...)
	}
	return t
}

func fact(f bot.Fact, c cuts) richText {
	label := span{text: bot.VisibleLine(f.Label) + ": "}
	tag, visible := "", indented
	switch {
	case f.Code:
		tag = "code"
	case f.Quote:
		tag, visible = "i", quoted
	}
	return append(richText{label}, value(f.Value, 0, c.rest, visible, unlinked(f.Value, tag))...)
}

// linkable finds what apps may turn into something to tap: a command, a
// mention, an address.
var linkable = regexp.MustCompile(`[/@]|\.\pL`)

// unlinked is the tag for a text of a caller: code, which apps leave alone, when
// the text holds something to tap. Tapping a command sends it in the person's
// name, so a caller must not be able to place one.
func unlinked(s, tag string) string {
	if linkable.MatchString(s) {
		return "code"
	}
	return tag
}

func arguments(args []bot.Arg, c cuts) richText {
	var t richText
	for i, a := range args[:c.shown] {
		if i > 0 {
			t = append(t, span{text: "\n"})
		}
		t = append(t, span{text: bot.VisibleLine(a.Name), tag: unlinked(a.Name, "")}, span{text: ": "})
		t = append(t, value(a.Value, a.Cut, c.args, indented, "code")...)
	}
	more := len(args) - c.shown
	if more > 0 && c.shown > 0 {
		t = append(t, span{text: "\n"})
	}
	if more > 0 {
		t = append(t, span{text: fmt.Sprintf("%d more arguments do not fit here", more)})
	}
	return t
}

func notes(lines []string, c cuts) richText {
	var t richText
	for i, line := range lines {
		if i > 0 {
			t = append(t, span{text: "\n"})
		}
		t = append(t, value(line, 0, c.rest, indented, unlinked(line, ""))...)
	}
	return t
}

// worthCutting is about the length of the remark that a cut adds.
const worthCutting = 24

// value is at most about n characters of s, made visible and tagged, then a
// remark on how many are missing: these and the ones that were cut before. The
// remark stands outside of the tag, where the value itself cannot write.
func value(s string, cut, n int, visible func(string) string, tag string) richText {
	runes := []rune(s)
	if len(runes)-worthCutting > n {
		kept := bot.Whole(runes[:n], runes[n:])
		s, cut = string(kept), cut+len(runes)-len(kept)
	}
	t := richText{{text: visible(s), tag: tag}}
	if cut > 0 {
		t = append(t, span{text: fmt.Sprintf(" … %d more characters", cut)})
	}
	return t
}

// indented makes a value visible and marks its further lines, so that none can
// pass for a line of the card.
func indented(s string) string {
	return strings.ReplaceAll(bot.Visible(s), "\n", "\n  │ ")
}

// quoted is indented between quotation marks that the value cannot close.
func quoted(s string) string {
	return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(indented(s)) + "”"
}
