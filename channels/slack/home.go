package slack

import (
	"context"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// A page holds 100 blocks (docs.slack.dev/reference/views). Each card takes at
// most seven, and the bot shows twelve.
const (
	pageLimit  = 100
	pageNotes  = 5
	pageBlocks = pageLimit - pageNotes
)

// ShowHome publishes p as the app's page of a person.
func (c *Channel) ShowHome(ctx context.Context, identity string, p bot.Page) error {
	user, err := c.user(ctx, identity)
	if err != nil {
		return err
	}
	const method = "views.publish"
	if err := c.openFor(method); err != nil {
		return err
	}
	if err := c.pace(ctx, "page of "+user, false); err != nil {
		return err
	}
	_, err = c.api.PublishViewContext(ctx, slackgo.PublishViewContextRequest{
		UserID: user,
		View:   slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, Blocks: slackgo.Blocks{BlockSet: page(p)}},
	})
	err = c.outcome(method, err)
	c.noteLimit(method, err)
	return err
}

// page lays out the cards one below the other: each argument stays on a line
// of its own, but not in a block of its own.
func page(p bot.Page) []slackgo.Block {
	blocks := header(p.Head)
	buttons := 0
	for _, card := range p.Cards {
		if lines := joined(argLines(card.Args, valueBudget)); card.Whole && !standsIn(card, lines) {
			card = card.Unapproving()
		}
		rows := [][]bot.Button{slices.Concat(card.Buttons...)}
		entry := slices.Concat(
			[]slackgo.Block{slackgo.NewDividerBlock()},
			joined([]string{clip(card.Head, headBudget, 0)}),
			joined(factLines(card.Facts)),
			joined(argLines(card.Args, valueBudget)),
			contexts(within(noteLines(card.Notes), contextLimit, notesBudget)),
			actionsFrom(buttons, rows))
		if len(blocks)+len(entry) > pageBlocks {
			break
		}
		blocks = append(blocks, entry...)
		buttons += len(rows[0])
	}
	blocks = append(blocks, slackgo.NewDividerBlock())
	for _, note := range p.Notes[:min(len(p.Notes), pageNotes-1)] {
		blocks = append(blocks, joined([]string{clip(note, sectionBudget, 0)})...)
	}
	return blocks
}

// joined is lines in one section, none for nothing.
func joined(lines []string) []slackgo.Block {
	text := strings.Join(within(lines, len(lines)+1, sectionBudget), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []slackgo.Block{section(text)}
}
