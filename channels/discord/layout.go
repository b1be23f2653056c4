package discord

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"holm/bot"
)

// Limits of messages (docs.discord.com/developers/resources/message).
const (
	maxContent     = 2000
	maxDescription = 4096 // of an embed; all embeds together may have 6000
	headBudget     = 256
)

// text is a card in Discord's terms: content, which notifications show, and the
// description of an embed, which has more room. Either may be empty.
type text struct{ content, description string }

// layOut is the full form: the head as content, everything else in the embed.
// A head alone is a plain message, in the embed only where it is too long.
func layOut(card bot.Card) text {
	if isPlain(card) {
		if whole := render(card, everything(card)); units(whole) <= maxContent {
			return text{content: whole}
		}
		return text{description: fit(card, maxDescription)}
	}
	body := card
	body.Head = ""
	return text{content: "**" + escape(line(card.Head, headBudget)) + "**", description: fit(body, maxDescription)}
}

// Shows implements bot.Shower.
func (c *Channel) Shows(card bot.Card) bool {
	if isPlain(card) {
		return wholeIn(card, maxDescription)
	}
	card.Head = ""
	return wholeIn(card, maxDescription)
}

// wholeIn tells whether fit leaves nothing out.
func wholeIn(card bot.Card, room int) bool { return units(render(card, everything(card))) <= room }

// narrow is the form for a card whose layout Discord refused: content alone.
func narrow(card bot.Card) text { return text{content: fit(card, maxContent)} }

// isPlain is true for a Head alone, which is a message and not a card.
func isPlain(card bot.Card) bool {
	return len(card.Facts)+len(card.Args)+len(card.Notes)+len(card.Buttons) == 0
}

// cuts say how many characters are shown of each argument and of each other
// value, and how many arguments are shown at all.
type cuts struct{ args, shown, rest int }

const (
	noCut    = int(^uint(0) >> 1) // longer than any value
	shortArg = 40                 // what is shown of each when not all have room
)

func everything(card bot.Card) cuts { return cuts{args: noCut, shown: len(card.Args), rest: noCut} }

// fit renders card in at most room units. The renderer has cut values already;
// when the whole is still too long, argument values are cut further, all to the
// same length, and say so; then the last arguments give way to a line that counts
// them; then everything else is cut alike.
func fit(card bot.Card, room int) string {
	full := render(card, everything(card))
	if units(full) <= room {
		return full
	}
	longest := 0
	for _, a := range card.Args {
		longest = max(longest, utf8.RuneCountInString(a.Value))
	}
	for _, step := range []struct {
		most int
		cut  func(int) cuts
	}{
		{longest, func(n int) cuts { return cuts{args: n, shown: len(card.Args), rest: noCut} }},
		{len(card.Args), func(n int) cuts { return cuts{args: shortArg, shown: n, rest: noCut} }},
		{room, func(n int) cuts { return cuts{rest: n} }},
	} {
		if t, ok := widest(card, room, step.most, step.cut); ok {
			return t
		}
	}
	return "This message has too many lines to be shown."
}

// widest finds the largest cut up to most that fits; ok is false if none does.
func widest(card bot.Card, room, most int, cut func(int) cuts) (t string, ok bool) {
	narrower := sort.Search(most+1, func(i int) bool {
		return units(render(card, cut(most-i))) <= room
	})
	if narrower > most {
		return "", false
	}
	return render(card, cut(most-narrower)), true
}

// render writes: facts, the arguments one a line, the notes; with an empty line
// between these, below the head where there is one.
func render(card bot.Card, c cuts) string {
	head := ""
	switch {
	case isPlain(card):
		return value(card.Head, 0, c.rest, func(s string) string { return escape(bot.Visible(s)) })
	case card.Head != "":
		head = "**" + escape(line(card.Head, headBudget)) + "**"
	}
	blocks := []string{head, facts(card.Facts, c), arguments(card.Args, c), notes(card.Notes, c)}
	return strings.Join(slices.DeleteFunc(blocks, func(s string) bool { return s == "" }), "\n\n")
}

func facts(list []bot.Fact, c cuts) string {
	lines := make([]string, len(list))
	for i, f := range list {
		show := dated
		switch {
		case f.Code:
			show = func(s string) string { return code(indented(s)) }
		case f.Quote:
			show = func(s string) string { return escape(quoted(s)) }
		}
		lines[i] = label(f.Label) + value(f.Value, 0, c.rest, show)
	}
	return strings.Join(lines, "\n")
}

func label(s string) string { return "**" + escape(line(s, headBudget)) + ":** " }

func arguments(args []bot.Arg, c cuts) string {
	var lines []string
	for _, a := range args[:c.shown] {
		lines = append(lines, label(a.Name)+value(a.Value, a.Cut, c.args, func(s string) string { return code(indented(s)) }))
	}
	if more := len(args) - c.shown; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more arguments do not fit here", more))
	}
	return strings.Join(lines, "\n")
}

func notes(list []string, c cuts) string {
	lines := make([]string, len(list))
	for i, note := range list {
		lines[i] = value(note, 0, c.rest, dated)
	}
	return strings.Join(lines, "\n")
}

// WritesTimes implements bot.Dater: Discord shows a time in its reader's zone.
func (c *Channel) WritesTimes() {}

// dated is a text of the card, with its times for the reader's app to write.
func dated(s string) string {
	texts, times := bot.Times(s)
	var b strings.Builder
	for i, part := range texts {
		b.WriteString(escape(indented(part)))
		if i < len(times) {
			fmt.Fprintf(&b, "<t:%d:t> (<t:%[1]d:R>)", times[i].Unix())
		}
	}
	return b.String()
}

// worthCutting is about the length of the remark that a cut adds.
const worthCutting = 24

// value is at most about n characters of s as show writes them, then a remark on
// how many are missing: these and the ones that were cut before. The remark
// stands outside of what show marks, where the value itself cannot write.
func value(s string, cut, n int, show func(string) string) string {
	runes := []rune(s)
	if len(runes)-worthCutting > n {
		kept := bot.Whole(runes[:n], runes[n:])
		s, cut = string(kept), cut+len(runes)-len(kept)
	}
	if cut == 0 {
		return show(s)
	}
	return fmt.Sprintf("%s … %d more characters", show(s), cut)
}
