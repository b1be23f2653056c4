package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"holm/approvals"
	"holm/internal/redact"
)

// argumentsOf lists the arguments of a call in the order they came, redacted
// and visible. readable is false when they are not what they should be, a JSON
// object: such a call cannot be judged from its card.
func argumentsOf(r approvals.Request) (args []Arg, readable bool) {
	redacted := redact.JSON(r.ArgsBytes)
	d := json.NewDecoder(bytes.NewReader(redacted))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return []Arg{{Name: "arguments", Value: Visible(string(redacted))}}, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return args, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return args, false
		}
		args = append(args, Arg{Name: VisibleLine(fmt.Sprint(name)), Value: display(value)})
	}
	return args, true
}

// display is a value as people read it: a text as it is, anything else, and a
// text that could be taken for something else, as compact JSON.
func display(raw json.RawMessage) string {
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil && isPlainText(text) {
		return Visible(text)
	}
	return Visible(string(raw))
}

func isPlainText(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && s[0] != '"' && !json.Valid([]byte(s))
}

const (
	// remark is about what a channel adds to a value that was cut.
	remark = len(" … 1234567 more characters")
	// shortArg is what is shown of each value when not all have room.
	shortArg = 20
	// aroundArg is what a channel sets around name and value.
	aroundArg = len(": ") + len("\n")
	// aroundLine is what a channel sets before each further line of a value.
	aroundLine = len("  | ")
	// mostArgs keeps a card within the 100 spans of formatting that Telegram minds in
	// one message: what stands outside of code it may make tappable.
	mostArgs = 80
	// spare is for the line that counts missing arguments, and what channels
	// set between the parts of a card.
	spare = 120
)

// fit cuts arguments so that the card c with them keeps its limits. All values
// are cut to one length, so that a long one cannot hide a later one; when even
// that is not enough, the first arguments are shown and the others counted in
// a note before those of c. whole tells that nothing is missing.
func fit(args []Arg, limits Limits, c Card) (fitted []Arg, notes []string, whole bool) {
	room := limits.Total - size(c) - spare
	n, shown := widest(args, limits.Value, room)
	shown = min(shown, mostArgs)
	whole = shown == len(args)
	for _, a := range args[:shown] {
		a = cutArg(a, n)
		fitted = append(fitted, a)
		whole = whole && a.Cut == 0 && !strings.HasSuffix(a.Name, "…")
	}
	if missing := len(args) - shown; missing > 0 {
		notes = append(notes, fmt.Sprintf("%d more arguments are not shown here.", missing))
	}
	return fitted, append(notes, c.Notes...), whole
}

// widest finds the length to which values are cut, and how many are shown.
func widest(args []Arg, most, room int) (n, shown int) {
	least := min(shortArg, most)
	if cost(args, least) > room {
		return least, sort.Search(len(args), func(k int) bool { return cost(args[:k+1], least) > room })
	}
	tooWide := sort.Search(most-least, func(i int) bool { return cost(args, least+i+1) > room })
	return least + tooWide, len(args)
}

// cost is what arguments take with values cut to n characters.
func cost(args []Arg, n int) int {
	sum := 0
	for _, a := range args {
		most := n + remark
		sum += min(length(a.Name), maxArgKey+1) + aroundArg + min(length(a.Value), most) + aroundLine*min(strings.Count(a.Value, "\n"), most)
	}
	return sum
}

// cutArg spares a value that is no longer than it would be with the remark.
func cutArg(a Arg, n int) Arg {
	a.Name = oneLine(a.Name, maxArgKey)
	if length(a.Value) > n+remark {
		a.Value, a.Cut = cut(a.Value, n)
	}
	return a
}

// size is what a card shows without its arguments.
func size(c Card) int {
	sum := length(c.Head)
	for _, f := range c.Facts {
		sum += length(f.Label) + aroundArg + length(f.Value)
	}
	for _, note := range c.Notes {
		sum += length(note) + len("\n")
	}
	return sum
}
