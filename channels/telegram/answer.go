package telegram

import (
	"context"
	"encoding/json"
	"errors"

	tg "github.com/go-telegram/bot"

	"holm/bot"
)

// Answer implements bot.Channel. Texts too long for a toast come as a box to
// dismiss. A tap that Telegram no longer lets us answer counts as answered.
func (c *Channel) Answer(ctx context.Context, ev bot.Event, text string) error {
	var reply tapReply
	if err := json.Unmarshal(ev.Reply, &reply); err != nil || reply.Query == "" {
		return errors.New("telegram: the event is not a tap that could be answered")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	text = cutTo(bot.Visible(text), maxAnswer)
	_, err := c.client.AnswerCallbackQuery(ctx, &tg.AnswerCallbackQueryParams{
		CallbackQueryID: reply.Query, Text: text, ShowAlert: units(text) > maxToast,
	})
	if err = c.explain("answer a tap", err); isTooOld(err) {
		return nil
	}
	return err
}

// maxToast is how many characters a toast shows before phones cut it.
const maxToast = 64
