package telegram

import (
	"context"
	"errors"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"holm/bot"
)

// QuoteHolds implements bot.Quoter. Telegram counts characters; UTF-16 units are
// the strictest reading.
func (c *Channel) QuoteHolds(title, text string) bool {
	return units(quoteOf(title, text).text) <= maxText
}

// SendQuote implements bot.Quoter: the title, and below it the text in a quote
// that is folded until its reader opens it. The text is sent as it is, with the
// bounds of the quote beside it, so nothing that stands in it can end the quote.
func (c *Channel) SendQuote(ctx context.Context, to bot.Recipient, title, text string) (bot.MessageRef, error) {
	chat, err := directChat(to.Identity)
	if err != nil {
		return bot.MessageRef{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	q := quoteOf(title, text)
	params := tg.SendMessageParams{
		ChatID: chat, Text: q.text, Entities: q.entities,
		LinkPreviewOptions: noPreview(), ReplyParameters: replyTo(to.ReplyTo, chat), MessageThreadID: topicOf(to.ReplyTo, chat),
	}
	sent, err := c.sendQuote(ctx, chat, params)
	if errors.Is(err, errParse) {
		c.log.Warn("telegram refused a quote, sending it plain", "error", err)
		params.Entities = nil
		sent, err = c.sendQuote(ctx, chat, params)
	}
	if err != nil {
		return bot.MessageRef{}, err
	}
	return refOf(chat, int64(sent.ID)), nil
}

func (c *Channel) sendQuote(ctx context.Context, chat int64, params tg.SendMessageParams) (*models.Message, error) {
	if err := c.pace.wait(ctx, chat, false); err != nil {
		return nil, err
	}
	sent, err := c.client.SendMessage(ctx, &params)
	err = c.explain("send a quote", err)
	c.pace.obey(chat, err)
	return sent, err
}

// quote is a text with its formatting beside it, in UTF-16 units.
type quote struct {
	text     string
	entities []models.MessageEntity
}

// quoteOf is the title in bold and the text as a folded quote, which is code
// besides: apps make nothing tappable there, and Telegram's server lets code
// stand in a quote, though its documentation does not say so.
func quoteOf(title, text string) quote {
	title, text = bot.VisibleLine(title), bot.Visible(text)
	begin, length := units(title)+len("\n"), units(text)
	return quote{text: title + "\n" + text, entities: []models.MessageEntity{
		{Type: models.MessageEntityTypeBold, Offset: 0, Length: units(title)},
		{Type: models.MessageEntityTypeExpandableBlockquote, Offset: begin, Length: length},
		{Type: models.MessageEntityTypeCode, Offset: begin, Length: length},
	}}
}
