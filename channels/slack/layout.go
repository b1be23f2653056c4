package slack

import (
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
		blocks: append([]slackgo.Block{section(clip(inUTC(text), sectionBudget, 0))}, actions(c.Buttons)...),
	}
}

// fallback is what notifications and screen readers use.
func fallback(c bot.Card) string {
	lines := append([]string{c.Head}, factLines(c.Facts)...)
	return clip(inUTC(strings.Join(lines, "\n")), textBudget, 0)
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

func section(text string) slackgo.Block {
	return slackgo.NewSectionBlock(textObject(text), nil, nil)
}

func plainText(s string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, s, false, false)
}

func plainTexts(lines []string) []*slackgo.TextBlockObject {
	texts := make([]*slackgo.TextBlockObject, len(lines))
	for i, line := range lines {
		texts[i] = textObject(line)
	}
	return texts
}
