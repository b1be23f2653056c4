package discord

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// maxUpload is what a server without boosts and a direct chat take.
const maxUpload = 10 << 20

// nobody keeps every mention in a message from calling anybody.
func nobody() *discordgo.MessageAllowedMentions {
	return &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// message is what Discord's createMessage takes; discordgo does not know nonces.
type message struct {
	*discordgo.MessageSend
	// Nonce makes Discord give back the message it has when the same one was
	// posted minutes ago: one whose answer was lost comes once.
	Nonce   string `json:"nonce,omitempty"`
	Enforce bool   `json:"enforce_nonce,omitempty"`
}

// Send posts card in the direct chat of to. A card without buttons that replies
// to a message elsewhere goes there, unless the bot may not write there.
func (c *Channel) Send(ctx context.Context, to bot.Recipient, card bot.Card) (bot.MessageRef, error) {
	user, err := user(to.Identity)
	if err != nil {
		return bot.MessageRef{}, err
	}
	if len(card.Buttons) == 0 && isRef(to.ReplyTo) {
		ref, err := c.post(ctx, to.ReplyTo.Chat, to.ReplyTo, card)
		if !errors.Is(err, bot.ErrUnreachable) {
			return ref, err
		}
	}
	var ref bot.MessageRef
	err = c.inDirectChat(ctx, user, func(chat string) (err error) {
		ref, err = c.post(ctx, chat, to.ReplyTo, card)
		return err
	})
	return ref, err
}

// inDirectChat does something in the direct chat with user. One known from
// before that is gone is opened anew.
func (c *Channel) inDirectChat(ctx context.Context, user string, do func(chat string) error) error {
	chat, cached := c.direct.get(user)
	if cached {
		err := do(chat)
		if !refusedWith(err, discordgo.ErrCodeUnknownChannel) {
			return err
		}
		c.direct.forget(user)
	}
	chat, err := c.open(ctx, user)
	if err != nil {
		return err
	}
	return do(chat)
}

func (c *Channel) open(ctx context.Context, user string) (chat string, err error) {
	var opened struct {
		ID string `json:"id"`
	}
	err = c.do(ctx, call{
		doing: "open a direct chat", method: http.MethodPost, path: "/users/@me/channels", route: "open", urgent: true,
		body: map[string]string{"recipient_id": user},
	}, &opened)
	if err != nil {
		return "", err
	}
	if !snowflake.MatchString(opened.ID) {
		return "", errors.New("discord: open a direct chat: no channel in the answer")
	}
	c.direct.put(user, opened.ID)
	return opened.ID, nil
}

// isUrgent tells a card from talk: something on it is to be decided, or was.
func isUrgent(card bot.Card) bool { return len(card.Facts)+len(card.Buttons) > 0 }

// post sends card to one chat, as a reply where the message replied to stands in
// the same.
func (c *Channel) post(ctx context.Context, chat string, in bot.MessageRef, card bot.Card) (bot.MessageRef, error) {
	send := &discordgo.MessageSend{AllowedMentions: nobody()}
	if card.Silent {
		send.Flags |= discordgo.MessageFlagsSuppressNotifications
	}
	if isRef(in) && in.Chat == chat {
		send.Reference = &discordgo.MessageReference{MessageID: in.Message, FailIfNotExists: new(bool)}
	}
	var sent struct {
		ID string `json:"id"`
	}
	err := c.deliver(card, func(t text, rows []discordgo.MessageComponent) error {
		send.Content, send.Embeds, send.Components = t.content, t.embeds(), rows
		m := message{MessageSend: send}
		if len(card.Buttons) > 0 { // the tokens of its buttons tell one card from all others
			m.Nonce, m.Enforce = nonce(m), true
		}
		return c.do(ctx, call{
			doing: "send a message", method: http.MethodPost, path: "/channels/" + chat + "/messages",
			route: "send " + chat, urgent: isUrgent(card), body: m,
		}, &sent)
	})
	if err == nil && !snowflake.MatchString(sent.ID) {
		err = errors.New("discord: send a message: no message in the answer")
	}
	if err != nil {
		return bot.MessageRef{}, err
	}
	return bot.MessageRef{Chat: chat, Message: sent.ID}, nil
}

// nonce is the same for the same message; 25 characters are allowed.
func nonce(m message) string {
	body, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:12])
}

// Update shows card in place of the message ref.
func (c *Channel) Update(ctx context.Context, ref bot.MessageRef, card bot.Card) error {
	if !isRef(ref) {
		return fmt.Errorf("discord: edit a message: none is named: %w", bot.ErrGone)
	}
	err := c.deliver(card, func(t text, rows []discordgo.MessageComponent) error {
		embeds := t.embeds()
		return c.do(ctx, call{
			doing: "edit a message", method: http.MethodPatch, path: "/channels/" + ref.Chat + "/messages/" + ref.Message,
			route: "edit " + ref.Chat, urgent: isUrgent(card),
			body: struct {
				Content         string                            `json:"content"`
				Embeds          []*discordgo.MessageEmbed         `json:"embeds"`
				Components      []discordgo.MessageComponent      `json:"components"`
				AllowedMentions *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
			}{t.content, embeds, rows, nobody()},
		}, nil)
	})
	if refusedWith(err, discordgo.ErrCodeUnknownChannel) {
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	}
	return err
}

// embeds is never nil: an empty list takes the embed off a message.
func (t text) embeds() []*discordgo.MessageEmbed {
	if t.description == "" {
		return []*discordgo.MessageEmbed{}
	}
	return []*discordgo.MessageEmbed{{Description: t.description}}
}

// deliver tries the full layout of card and, when Discord refuses it, once more
// the plainest: a card is never lost for its form. Where not all arguments have
// room there, it goes without the buttons that approve.
func (c *Channel) deliver(card bot.Card, try func(text, []discordgo.MessageComponent) error) error {
	if card.Whole && !c.Shows(card) {
		card = card.Unapproving()
	}
	rows, err := components(card.Buttons)
	if err != nil {
		return err
	}
	t := layOut(card)
	if strings.TrimSpace(t.content+t.description) == "" {
		return errors.New("discord: the card has no text")
	}
	err = try(t, rows)
	if refusedWith(err, discordgo.ErrCodeInvalidFormBody) {
		c.log.Warn("discord refused a layout; sending the plain one", "error", err)
		if card.Whole && !wholeIn(card, maxContent) {
			card = card.Unapproving()
			if rows, err = components(card.Buttons); err != nil {
				return err
			}
		}
		err = try(narrow(card), rows)
	}
	return err
}

// SendFile posts data as a file in the direct chat of to.
func (c *Channel) SendFile(ctx context.Context, to bot.Recipient, name string, data []byte, caption string) error {
	user, err := user(to.Identity)
	if err != nil {
		return err
	}
	if len(data) == 0 || len(data) > maxUpload {
		return fmt.Errorf("discord: a file must have between 1 byte and 10 MiB, not %d bytes", len(data))
	}
	return c.inDirectChat(ctx, user, func(chat string) error {
		send := &discordgo.MessageSend{Content: fit(bot.Card{Head: caption}, maxContent), AllowedMentions: nobody()}
		if isRef(to.ReplyTo) && to.ReplyTo.Chat == chat {
			send.Reference = &discordgo.MessageReference{MessageID: to.ReplyTo.Message, FailIfNotExists: new(bool)}
		}
		return c.do(ctx, call{
			doing: "send a file", method: http.MethodPost, path: "/channels/" + chat + "/messages", route: "send " + chat,
			body: send, files: []*discordgo.File{{Name: fileName(name), ContentType: "text/plain; charset=utf-8", Reader: bytes.NewReader(data)}},
		}, nil)
	})
}

// fileName keeps the last part of a path, visibly and short.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		name = "file"
	}
	return line(name, 80)
}

// isRef tells whether ref names a message of Discord. Ids become parts of
// addresses, so nothing else may.
func isRef(ref bot.MessageRef) bool {
	return snowflake.MatchString(ref.Chat) && snowflake.MatchString(ref.Message)
}
