package telegram

import (
	"context"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"holm/bot"
)

// maxPlaceholder is the most that an empty reply box may show, in characters.
const maxPlaceholder = 64

// Ask implements bot.Asker: a message in the direct chat that opens the reply
// box. A text is the answer when it replies to that very message; what the
// person writes otherwise is not.
func (c *Channel) Ask(ctx context.Context, ev bot.Event, q bot.Question) (bot.MessageRef, error) {
	chat, err := directChat(ev.Identity)
	if err != nil {
		return bot.MessageRef{}, err
	}
	params := tg.SendMessageParams{
		ChatID: chat, LinkPreviewOptions: noPreview(), ReplyParameters: replyTo(ev.Message, chat),
		ReplyMarkup: &models.ForceReply{ForceReply: true, Selective: true, InputFieldPlaceholder: cutTo(bot.VisibleLine(q.Title), maxPlaceholder)},
	}
	return c.sendText(ctx, chat, bot.Card{Head: q.Text}, params)
}

// AsksAtOnce implements bot.Asker: a message more is not nothing.
func (c *Channel) AsksAtOnce() bool { return false }
