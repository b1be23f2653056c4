package slack

import (
	"regexp"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// Shows implements bot.Shower.
func (c *Channel) Shows(card bot.Card) bool {
	if isPlain(card) {
		return !slices.ContainsFunc(paragraphs(card.Head), func(b slackgo.Block) bool { return strings.HasSuffix(textOf(b), moreCharacters) })
	}
	return standsIn(card, layout(card).blocks)
}

// standsIn tells whether each argument of card stands whole in blocks, in its place.
func standsIn(card bot.Card, blocks []slackgo.Block) bool {
	var text strings.Builder
	for _, b := range blocks {
		text.WriteString(textOf(b) + "\n")
	}
	rest := flat("\n" + text.String())
	for _, a := range card.Args {
		name := strings.ReplaceAll(a.Name, "\n", "↵")
		_, after, ok := strings.Cut(rest, flat("\n"+shown(name)+": "+shown(a.Value)+"\n"))
		if !ok || a.Cut > 0 {
			return false
		}
		rest = "\n" + after
	}
	return true
}

// flat is a text without the indents that the forms of a message give its lines.
func flat(text string) string { return indents.ReplaceAllString(text, "\n") }

var indents = regexp.MustCompile(`\n +`)

// textOf is what a section says.
func textOf(b slackgo.Block) string {
	s, ok := b.(*slackgo.SectionBlock)
	if !ok {
		return ""
	}
	var lines []string
	if s.Text != nil {
		lines = append(lines, s.Text.Text)
	}
	for _, f := range s.Fields {
		lines = append(lines, f.Text)
	}
	return strings.Join(lines, "\n")
}
