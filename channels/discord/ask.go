package discord

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// askForm begins the id of a form for a reason, reasonField names its field.
// Decode knows them; forms that people have open outlive a new version of Holm.
const (
	askForm     = "ask:"
	reasonField = "holm_reason"
)

// Limits of forms (docs.discord.com/developers/components/reference#text-input).
const (
	maxTitle       = 45
	maxPlaceholder = 100
	longestReason  = 1000
)

// AsksAtOnce is true: a form costs no further message.
func (c *Channel) AsksAtOnce() bool { return true }

// Ask opens a form for a text. Discord takes it as the first answer to a tap
// alone: one that got its provisional answer opens none any more, and a tap on
// the same button again does. Discord does not tell when a form is closed
// without an answer.
func (c *Channel) Ask(ctx context.Context, ev bot.Event, q bot.Question) (bot.MessageRef, error) {
	r, err := replyOf(ev)
	if err != nil {
		return bot.MessageRef{}, err
	}
	if len(askForm+q.Token) > maxCustom {
		return bot.MessageRef{}, fmt.Errorf("discord: a question whose token has %d bytes", len(q.Token))
	}
	field := discordgo.TextInput{
		CustomID: reasonField, Label: "Reason", Style: discordgo.TextInputParagraph, Placeholder: line(q.Text, maxPlaceholder),
		Required: true, MaxLength: longestReason,
	}
	return bot.MessageRef{}, c.respond(ctx, r, discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseModal,
		Data: &discordgo.InteractionResponseData{
			CustomID: askForm + q.Token, Title: line(q.Title, maxTitle),
			Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{field}}},
		},
	})
}
