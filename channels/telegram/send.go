package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"holm/bot"
)

// Send implements bot.Channel. The direct chat of a person has the person's
// own id; it exists once they have pressed Start. A reply without buttons to a
// message in a group goes there. What answers a message in a topic stays in it;
// where that is closed, it goes to the direct chat.
func (c *Channel) Send(ctx context.Context, to bot.Recipient, card bot.Card) (bot.MessageRef, error) {
	chat, err := directChat(to.Identity)
	if err != nil {
		return bot.MessageRef{}, err
	}
	if group, _, err := parseRef(to.ReplyTo); err == nil && group < 0 && len(card.Buttons) == 0 {
		chat = group // the ids of groups are negative
	}
	params := tg.SendMessageParams{
		ChatID: chat, DisableNotification: card.Silent, LinkPreviewOptions: noPreview(),
		ReplyParameters: replyTo(to.ReplyTo, chat), MessageThreadID: topicOf(to.ReplyTo, chat),
	}
	ref, err := c.sendText(ctx, chat, card, params)
	if errors.Is(err, errTopic) && to.ReplyTo != (bot.MessageRef{}) {
		return c.Send(ctx, bot.Recipient{Identity: to.Identity}, card)
	}
	return ref, err
}

// sendText sends a card with what params say besides; a question's own keyboard
// stands there when the card has none.
func (c *Channel) sendText(ctx context.Context, chat int64, card bot.Card, params tg.SendMessageParams) (bot.MessageRef, error) {
	var sent *models.Message
	err := c.deliver(ctx, chat, card, func(ctx context.Context, text string, mode models.ParseMode, keys *keyboard) error {
		attempt := params // the client may still be reading the last attempt's
		attempt.Text, attempt.ParseMode = text, mode
		if keys != nil {
			attempt.ReplyMarkup = keys
		}
		var err error
		sent, err = c.client.SendMessage(ctx, &attempt)
		return c.explain("send a message", err)
	})
	if err != nil {
		return bot.MessageRef{}, err
	}
	return refOf(chat, int64(sent.ID)), nil
}

// Update implements bot.Channel. A card without buttons takes them away.
func (c *Channel) Update(ctx context.Context, ref bot.MessageRef, card bot.Card) error {
	chat, message, err := parseRef(ref)
	if err != nil {
		return err
	}
	params := tg.EditMessageTextParams{ChatID: chat, MessageID: message, LinkPreviewOptions: noPreview()}
	err = c.deliver(ctx, chat, card, func(ctx context.Context, text string, mode models.ParseMode, keys *keyboard) error {
		attempt := params
		attempt.Text, attempt.ParseMode = text, mode
		if keys != nil {
			attempt.ReplyMarkup = keys
		}
		_, err := c.client.EditMessageText(ctx, &attempt)
		if moved := new(tg.MigrateError); errors.As(err, &moved) {
			return c.movedAway(moved)
		}
		return c.explain("edit a message", err)
	})
	if errors.Is(err, errNotModified) {
		return nil
	}
	return err
}

// movedAway explains the edit of a message in a group that became a supergroup:
// its messages have new ids there, which nobody tells.
func (c *Channel) movedAway(moved *tg.MigrateError) error {
	return &failure{
		text: fmt.Sprintf("telegram: edit a message: the group became chat %d", moved.MigrateToChatID),
		kind: bot.ErrGone,
	}
}

// isUrgent tells a card from talk: something on it is to be decided, or was.
func isUrgent(card bot.Card) bool { return len(card.Facts)+len(card.Buttons) > 0 }

// deliver sends a card formatted; when Telegram refuses the formatting, plain;
// when it finds the text too long after all, with half the room, and then without
// the buttons that approve where not all arguments have room there.
func (c *Channel) deliver(ctx context.Context, chat int64, card bot.Card, send func(context.Context, string, models.ParseMode, *keyboard) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	room := maxText
	mode := models.ParseModeHTML
	keys, err := keyboardOf(card)
	if err != nil {
		return err
	}
	for range 3 {
		if card.Whole && !fits(card, room) {
			card = card.Unapproving()
			if keys, err = keyboardOf(card); err != nil {
				return err
			}
		}
		if err = c.pace.wait(ctx, chat, isUrgent(card)); err != nil {
			return err
		}
		text := layOut(card, room)
		if text.isEmpty() {
			return errors.New("telegram: the card has no text")
		}
		err = send(ctx, text.in(mode), mode, keys)
		switch {
		case errors.Is(err, errParse) && mode != "":
			c.log.Warn("telegram refused a message's formatting, sending it plain", "error", err)
			mode = ""
		case errors.Is(err, errTooLong):
			room /= 2
		default:
			c.pace.obey(chat, err)
			return err
		}
	}
	return err
}

// SendFile implements bot.FileSender. The caption is plain text.
func (c *Channel) SendFile(ctx context.Context, to bot.Recipient, name string, data []byte, caption string) error {
	chat, err := directChat(to.Identity)
	if err != nil {
		return err
	}
	if len(data) == 0 || len(data) > maxUpload {
		return fmt.Errorf("telegram: a file must have between 1 byte and 50 MB, not %d bytes", len(data))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*callTime)
	defer cancel()
	if err := c.pace.wait(ctx, chat, false); err != nil {
		return err
	}
	_, err = c.client.SendDocument(ctx, &tg.SendDocumentParams{
		ChatID: chat, Caption: cutTo(bot.Visible(caption), maxCaption),
		ReplyParameters: replyTo(to.ReplyTo, chat), MessageThreadID: topicOf(to.ReplyTo, chat),
		Document: &models.InputFileUpload{Filename: fileName(name), Data: bytes.NewReader(data)},
	})
	err = c.explain("send a file", err)
	c.pace.obey(chat, err)
	if errors.Is(err, errTopic) && to.ReplyTo != (bot.MessageRef{}) {
		return c.SendFile(ctx, bot.Recipient{Identity: to.Identity}, name, data, caption)
	}
	return err
}

// fileName keeps the last part of a path, visibly and short.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		name = "file"
	}
	return cutTo(bot.VisibleLine(name), 80)
}

// directChat reads an identity of this namespace.
func directChat(identity string) (int64, error) {
	id, err := strconv.ParseInt(identity, 10, 64)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("telegram: %w: %.40q is not a Telegram user id", bot.ErrUnreachable, identity)
	}
	return id, nil
}

func refOf(chat, message int64) bot.MessageRef {
	return bot.MessageRef{Chat: strconv.FormatInt(chat, 10), Message: strconv.FormatInt(message, 10)}
}

func parseRef(ref bot.MessageRef) (chat int64, message int, err error) {
	chat, errChat := strconv.ParseInt(ref.Chat, 10, 64)
	message, errMessage := strconv.Atoi(ref.Message)
	if errChat != nil || errMessage != nil || message <= 0 {
		return 0, 0, fmt.Errorf("telegram: %w: the reference %.40q/%.40q is none of Telegram's", bot.ErrGone, ref.Chat, ref.Message)
	}
	return chat, message, nil
}

// replyTo points to a message of the same chat, never to one elsewhere: that
// would quote a group in a direct chat.
func replyTo(ref bot.MessageRef, chat int64) *models.ReplyParameters {
	where, message, err := parseRef(ref)
	if err != nil || where != chat {
		return nil
	}
	return &models.ReplyParameters{MessageID: message, AllowSendingWithoutReply: true}
}

// topicOf is the topic of a message of the same chat, 0 for none.
func topicOf(ref bot.MessageRef, chat int64) int {
	topic, err := strconv.Atoi(ref.Thread)
	if where, _, bad := parseRef(ref); err != nil || bad != nil || where != chat {
		return 0
	}
	return topic
}

func noPreview() *models.LinkPreviewOptions {
	return &models.LinkPreviewOptions{IsDisabled: tg.True()}
}
