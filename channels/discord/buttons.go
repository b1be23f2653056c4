package discord

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// Limits of buttons (docs.discord.com/developers/components/reference).
const (
	maxRow    = 5
	maxRows   = 5
	maxLabel  = 80
	maxCustom = 100
)

var styles = map[bot.ButtonStyle]discordgo.ButtonStyle{
	bot.Plain: discordgo.SecondaryButton, bot.Primary: discordgo.PrimaryButton, bot.Danger: discordgo.DangerButton,
}

// components are the rows of buttons, never nil: an empty list takes buttons off
// a message. Rows that are too many are filled up.
func components(rows [][]bot.Button) ([]discordgo.MessageComponent, error) {
	var parted [][]bot.Button
	for _, row := range rows {
		parted = slices.AppendSeq(parted, slices.Chunk(row, maxRow))
	}
	if len(parted) > maxRows {
		parted = slices.Collect(slices.Chunk(slices.Concat(rows...), maxRow))
	}
	if len(parted) > maxRows {
		return nil, fmt.Errorf("discord: more than %d buttons on one card", maxRow*maxRows)
	}
	components := []discordgo.MessageComponent{}
	for _, row := range parted {
		var buttons []discordgo.MessageComponent
		for _, b := range row {
			if b.Token == "" || len(b.Token) > maxCustom {
				return nil, fmt.Errorf("discord: a button whose data has %d bytes", len(b.Token))
			}
			buttons = append(buttons, discordgo.Button{
				Label: line(cmp.Or(b.Label, "…"), maxLabel), Style: cmp.Or(styles[b.Style], discordgo.SecondaryButton), CustomID: b.Token,
			})
		}
		components = append(components, discordgo.ActionsRow{Components: buttons})
	}
	return components, nil
}
