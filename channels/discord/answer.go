package discord

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// reply is what Event.Reply holds of an interaction. The token answers it for a
// quarter of an hour, to the person who acted alone.
type reply struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	App   string `json:"app"`
	Type  int    `json:"type"`
}

func replyOf(ev bot.Event) (reply, error) {
	var r reply
	if json.Unmarshal(ev.Reply, &r) != nil || r.ID == "" || r.Token == "" {
		return reply{}, errNoEvent
	}
	return r, nil
}

// Answer shows text to the person who tapped, and to nobody else: as the first
// answer where the tap has none yet, behind the provisional one otherwise. A tap
// is answered once, whichever process does it.
func (c *Channel) Answer(ctx context.Context, ev bot.Event, text string) error {
	r, err := replyOf(ev)
	if err != nil {
		return err
	}
	if text == "" {
		return c.settle(ctx, r)
	}
	data := &discordgo.InteractionResponseData{
		Content: fit(bot.Card{Head: text}, maxContent), Flags: discordgo.MessageFlagsEphemeral, AllowedMentions: nobody(),
	}
	err = c.respond(ctx, r, discordgo.InteractionResponse{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: data})
	if !refusedWith(err, discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged) {
		return tooLate(err)
	}
	return tooLate(c.do(ctx, call{
		doing: "answer a tap", method: http.MethodPost, path: "/webhooks/" + r.App + "/" + r.Token, body: data,
	}, nil))
}

// settle ends Discord's waiting without a word.
func (c *Channel) settle(ctx context.Context, r reply) error {
	err := c.respond(ctx, r, discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate})
	if refusedWith(err, discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged) {
		return nil
	}
	return tooLate(err)
}

// respond gives an interaction its first answer.
func (c *Channel) respond(ctx context.Context, r reply, answer discordgo.InteractionResponse) error {
	if answered, ok := c.taps.LoadAndDelete(r.ID); ok {
		answered.(context.CancelFunc)()
	}
	return c.do(ctx, call{
		doing: "answer an interaction", method: http.MethodPost, path: "/interactions/" + r.ID + "/" + r.Token + "/callback", body: answer,
	}, nil)
}

// tooLate takes the refusals that mean nobody waits any more for an answer.
func tooLate(err error) error {
	if refusedWith(err, discordgo.ErrCodeUnknownInteraction, discordgo.ErrCodeUnknownWebhook, discordgo.ErrCodeInvalidWebhookTokenProvided) {
		return nil
	}
	return err
}
