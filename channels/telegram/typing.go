package telegram

import (
	"context"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"holm/bot"
)

// Typing implements bot.Typer (#sendchataction): apps show it for five seconds,
// or until a message comes.
func (c *Channel) Typing(ctx context.Context, to bot.Recipient) error {
	chat, err := directChat(to.Identity)
	if err != nil || !c.pace.takeSign(chat, time.Now()) {
		return err
	}
	_, err = c.client.SendChatAction(ctx, &tg.SendChatActionParams{
		ChatID: chat, MessageThreadID: topicOf(to.ReplyTo, chat), Action: models.ChatActionTyping,
	})
	err = c.explain("show typing", err)
	c.pace.obeySigns(err)
	return err
}
