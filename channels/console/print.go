package console

import (
	"fmt"
	"slices"
	"strings"

	"holm/bot"
)

// style holds the escape sequences for emphasis, empty without a terminal.
type style struct{ bold, dim, off string }

var colours = style{bold: "\x1b[1m", dim: "\x1b[2m", off: "\x1b[0m"}

func (s style) strong(text string) string { return s.bold + text + s.off }
func (s style) weak(text string) string   { return s.dim + text + s.off }

// card prints a whole card, one thing a line, and the keys of its buttons. A
// head alone is a message.
func (s style) card(c bot.Card) string {
	if len(c.Facts)+len(c.Args)+len(c.Notes)+len(c.Buttons) == 0 {
		return indented(bot.Visible(c.Head)) + "\n"
	}
	lines := []string{"", s.strong(bot.VisibleLine(c.Head))}
	for _, f := range c.Facts {
		lines = append(lines, labelled(f.Label, f.Value))
	}
	for _, a := range c.Args {
		lines = append(lines, argument(a))
	}
	for _, note := range c.Notes {
		lines = append(lines, s.weak("  "+bot.VisibleLine(note)))
	}
	if keys := keysOf(slices.Concat(c.Buttons...)); keys != "" {
		lines = append(lines, keys)
	}
	return strings.Join(lines, "\n") + "\n"
}

func labelled(label, value string) string {
	return fmt.Sprintf("  %s: %s", bot.VisibleLine(label), indented(bot.Visible(value)))
}

func argument(a bot.Arg) string {
	line := labelled(a.Name, a.Value)
	if a.Cut > 0 {
		line += fmt.Sprintf(" … %d more characters", a.Cut)
	}
	return "  " + line
}

// indented marks the further lines of a text, so that none can pass for a line
// of the card.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n      │ ") }

// update prints what a card became: its head and the first notes, which say
// who decided and what the call did.
func (s style) update(c bot.Card) string {
	line := bot.VisibleLine(c.Head)
	for _, note := range c.Notes[:min(len(c.Notes), 2)] {
		line += " · " + bot.VisibleLine(note)
	}
	return s.strong(line) + "\n"
}

func (s style) toast(text string) string { return "» " + bot.VisibleLine(text) + "\n" }

// keys are pressed for the buttons whose label begins so.
var keys = []struct{ key, label string }{
	{"a", bot.LabelApproveCall},
	{"o", bot.LabelApproveForTime},
	{"p", bot.LabelAlwaysTool},
	{"e", bot.LabelAlwaysArguments},
	{"r", bot.LabelReject},
	{"m", bot.LabelMore},
	{"y", bot.LabelYesAlways},
	{"b", bot.LabelBack},
	{"d", bot.LabelDetails},
}

// keysOf is the line that tells which keys there are.
func keysOf(buttons []bot.Button) string {
	var parts []string
	for _, k := range keys {
		if i := index(buttons, k.label); i >= 0 {
			parts = append(parts, fmt.Sprintf("[%s] %s", k.key, bot.VisibleLine(buttons[i].Label)))
		}
	}
	return strings.Join(parts, "  ")
}

// tokenFor finds the button that a key presses.
func tokenFor(buttons []bot.Button, key string) (token string, ok bool) {
	for _, k := range keys {
		if i := index(buttons, k.label); k.key == key && i >= 0 {
			return buttons[i].Token, true
		}
	}
	return "", false
}

func isKey(text string) bool {
	return slices.ContainsFunc(keys, func(k struct{ key, label string }) bool { return k.key == text })
}

// index finds a button by how its label begins. "Approve for " does not begin
// "Approve this call", and so on: no label begins another.
func index(buttons []bot.Button, label string) int {
	return slices.IndexFunc(buttons, func(b bot.Button) bool { return strings.HasPrefix(b.Label, label) })
}
