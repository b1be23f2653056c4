package slack

import (
	"cmp"
	"fmt"
	"slices"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// actions is one block for each row of buttons. An action_id names the place
// of a button on its card; the value alone says what it does.
func actions(rows [][]bot.Button) []slackgo.Block {
	return actionsFrom(0, rows)
}

// actionsFrom is actions of a card that follows n other buttons.
func actionsFrom(n int, rows [][]bot.Button) []slackgo.Block {
	var blocks []slackgo.Block
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
