package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// message is a card in Slack's terms. Every text in its blocks is plain_text,
// where links, mentions and formatting have no meaning.
type message struct {
	text   string
	blocks []slackgo.Block
}

func (m message) options() []slackgo.MsgOption {
	return []slackgo.MsgOption{slackgo.MsgOptionText(m.text, true), slackgo.MsgOptionBlocks(m.blocks...)}
}

// layout is the full form: header, facts, arguments, notes, buttons.
func layout(c bot.Card) message {
	if isPlain(c) {
		return message{text: fallback(c), blocks: paragraphs(c.Head)}
	}
	head := header(c.Head)
	facts := sections(within(factLines(c.Facts), factBlocks, factsBudget))
	notes := contexts(within(noteLines(c.Notes), noteBlocks*contextLimit, notesBudget))
	buttons := actions(c.Buttons)
	room := blocksLimit - len(head) - len(facts) - len(notes) - len(buttons)
	args := argBlocks(c.Args, room)
	return message{text: fallback(c), blocks: slices.Concat(head, facts, args, notes, buttons)}
}

// isPlain is true for a Head alone, which is a message and not a card.
func isPlain(c bot.Card) bool {
	return len(c.Facts)+len(c.Args)+len(c.Notes)+len(c.Buttons) == 0
}

// minimal is the form for a card whose layout Slack refused: one text and the
// same buttons.
func minimal(c bot.Card) message {
	text := strings.Join(slices.Concat(
		[]string{c.Head}, factLines(c.Facts), argLines(c.Args, valueBudget), noteLines(c.Notes)), "\n")
	return message{
		text:   fallback(c),
		blocks: append([]slackgo.Block{section(clip(text, sectionBudget, 0))}, actions(c.Buttons)...),
	}
}

// fallback is what notifications and screen readers use.
func fallback(c bot.Card) string {
	lines := append([]string{c.Head}, factLines(c.Facts)...)
	return clip(strings.Join(lines, "\n"), textBudget, 0)
}

// header is a line in large letters, or a paragraph where it is too long.
func header(head string) []slackgo.Block {
	line := bot.VisibleLine(first(head, headerLimit+1))
	switch {
	case line == "":
		return nil
	case cost(line) <= headerLimit:
		return []slackgo.Block{slackgo.NewHeaderBlock(plainText(line))}
	}
	return []slackgo.Block{section(clip(head, headBudget, 0))}
}

// paragraphs spreads a long text over sections, parting it between lines
// where it can.
func paragraphs(text string) []slackgo.Block {
	var blocks []slackgo.Block
	rest := []rune(strings.TrimSpace(text))
	for len(rest) > 0 && len(blocks) < plainBlocks-1 {
		n := fitting(rest, sectionBudget)
		if n < len(rest) {
			n = lineEnd(rest, n)
		}
		blocks = append(blocks, section(bot.Visible(string(rest[:n]))))
		rest = []rune(strings.TrimLeft(string(rest[n:]), "\n"))
	}
	if len(rest) > 0 {
		blocks = append(blocks, section(clip(string(rest), sectionBudget, 0)))
	}
	return blocks
}

// lineEnd is the end of the last whole line within the first n runes, or n.
func lineEnd(runes []rune, n int) int {
	for i := n; i > 0; i-- {
		if runes[i] == '\n' {
			return i
		}
	}
	return n
}

func factLines(facts []bot.Fact) []string {
	values := make([]string, len(facts))
	for i, f := range facts {
		values[i] = f.Value
	}
	size := share(values, factsBudget-labelBudget, valueBudget)
	lines := make([]string, len(facts))
	for i, f := range facts {
		value := clip(f.Value, size, 0)
		if f.Quote {
			value = "“" + value + "”"
		}
		lines[i] = labelled(f.Label, value)
	}
	return lines
}

// argLines is one line for each argument. A value that does not fit is cut
// further, and the line tells all that is missing.
func argLines(args []bot.Arg, most int) []string {
	values := make([]string, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	size := share(values, argsBudget-labelBudget, most)
	lines := make([]string, len(args))
	for i, a := range args {
		lines[i] = labelled(a.Name, clip(values[i], size, a.Cut))
	}
	return lines
}

func labelled(label, value string) string {
	return clip(strings.ReplaceAll(label, "\n", "↵"), labelBudget, 0) + ": " + value
}

func noteLines(notes []string) []string {
	size := share(notes, notesBudget, sectionBudget)
	var lines []string
	for _, note := range notes {
		if strings.TrimSpace(note) != "" {
			lines = append(lines, clip(note, size, 0))
		}
	}
	return lines
}

// argBlocks gives each argument a block of its own, or a field of a block when
// there are more arguments than room.
func argBlocks(args []bot.Arg, room int) []slackgo.Block {
	if len(args) <= room {
		return sections(within(argLines(args, valueBudget), room, argsBudget))
	}
	var blocks []slackgo.Block
	lines := within(argLines(args, fieldBudget), room*fieldsLimit, argsBudget)
	for group := range slices.Chunk(lines, fieldsLimit) {
		blocks = append(blocks, slackgo.NewSectionBlock(nil, plainTexts(group), nil))
	}
	return blocks
}

func sections(lines []string) []slackgo.Block {
	var blocks []slackgo.Block
	for _, line := range lines {
		blocks = append(blocks, section(line))
	}
	return blocks
}

// contexts puts notes into small print.
func contexts(lines []string) []slackgo.Block {
	var blocks []slackgo.Block
	for group := range slices.Chunk(lines, contextLimit) {
		var elements []slackgo.MixedElement
		for _, text := range plainTexts(group) {
			elements = append(elements, text)
		}
		blocks = append(blocks, slackgo.NewContextBlock("", elements...))
	}
	return blocks
}

// actions is one block for each row of buttons. An action_id names the place
// of a button on its card; the value alone says what it does.
func actions(rows [][]bot.Button) []slackgo.Block {
	var blocks []slackgo.Block
	n := 0
	for _, row := range rows {
		var elements []slackgo.BlockElement
		for _, b := range row {
			elements = append(elements, button(fmt.Sprintf("holm_%d", n), b))
			n++
		}
		for group := range slices.Chunk(elements, actionsLimit) {
			blocks = append(blocks, slackgo.NewActionBlock("", group...))
		}
	}
	return blocks
}

func button(id string, b bot.Button) *slackgo.ButtonBlockElement {
	label := []rune(first(cmp.Or(b.Label, "…"), buttonLimit))
	if n := fitting(label, buttonLimit-1); n < len(label) {
		label = append(label[:n:n], '…')
	}
	return slackgo.NewButtonBlockElement(id, b.Token, plainText(bot.VisibleLine(string(label)))).
		WithStyle(slackgo.Style(b.Style))
}

func section(text string) slackgo.Block {
	return slackgo.NewSectionBlock(plainText(text), nil, nil)
}

func plainText(s string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, s, false, false)
}

func plainTexts(lines []string) []*slackgo.TextBlockObject {
	texts := make([]*slackgo.TextBlockObject, len(lines))
	for i, line := range lines {
		texts[i] = plainText(line)
	}
	return texts
}
