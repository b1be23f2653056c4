package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"holm/bot"
)

// Send posts c in the direct chat of to, a person of this app's workspace.
//
// A card without buttons that replies to a message in a thread goes into that
// thread instead, and one that replies to a command is shown where that was
// typed, to that person alone; a card with buttons never leaves the direct
// chat. Slack cannot deliver silently: Card.Silent has no effect.
func (c *Channel) Send(ctx context.Context, to bot.Recipient, card bot.Card) (bot.MessageRef, error) {
	user, err := c.user(ctx, to.Identity)
	if err != nil {
		return bot.MessageRef{}, err
	}
	in := to.ReplyTo
	switch {
	case len(card.Buttons) > 0:
	case in.Thread != "" && in.Chat != "":
		ref, err := c.post(ctx, in.Chat, card, slackgo.MsgOptionTS(in.Thread))
		if !errors.Is(err, bot.ErrUnreachable) {
			return ref, err
		}
	case in.Message == "" && in.Chat != "" && !direct(in.Chat):
		if ref, ok := c.whisper(ctx, in.Chat, user, card); ok {
			return ref, nil
		}
	}
	chat, cached, err := c.directChat(ctx, user)
	if err != nil {
		return bot.MessageRef{}, err
	}
	ref, err := c.post(ctx, chat, card)
	if cached && errors.Is(err, bot.ErrUnreachable) {
		c.direct.forget(user)
		if chat, _, err = c.directChat(ctx, user); err == nil {
			ref, err = c.post(ctx, chat, card)
		}
	}
	return ref, err
}

// whisper shows card in a channel to one person; ok is false where that cannot
// be done, as in channels that the app is not in.
func (c *Channel) whisper(ctx context.Context, chat, user string, card bot.Card) (ref bot.MessageRef, ok bool) {
	ts, err := c.api.PostEphemeralContext(ctx, chat, user, layout(card).options()...)
	if c.outcome("chat.postEphemeral", err) != nil {
		return bot.MessageRef{}, false
	}
	return bot.MessageRef{Chat: chat, Message: ts}, true
}

// direct is true for ids of one-to-one conversations.
func direct(channel string) bool { return strings.HasPrefix(channel, "D") }

// user is the user id of an identity "T…/U…". People of another workspace
// cannot be written to with this app's token.
func (c *Channel) user(ctx context.Context, identity string) (string, error) {
	team, user, ok := strings.Cut(identity, "/")
	if !ok || !isTeam(team) || !isUser(user) {
		return "", fmt.Errorf("slack: an identity that is not TEAM/USER: %w", bot.ErrUnreachable)
	}
	who, err := c.whoami(ctx)
	if err != nil {
		return "", err
	}
	if team != who.TeamID {
		return "", fmt.Errorf("slack: the person is in workspace %s, the app in %s: %w", team, who.TeamID, bot.ErrUnreachable)
	}
	return user, nil
}

// directChat opens the direct chat with user, or finds it among those opened
// before.
func (c *Channel) directChat(ctx context.Context, user string) (chat string, cached bool, err error) {
	if chat, ok := c.direct.get(user); ok {
		return chat, true, nil
	}
	opened, _, _, err := c.api.OpenConversationContext(ctx, &slackgo.OpenConversationParameters{Users: []string{user}})
	if err := c.outcome("conversations.open", err); err != nil {
		return "", false, err
	}
	if opened == nil || opened.ID == "" {
		return "", false, errors.New("slack: conversations.open: no channel in the answer")
	}
	return c.direct.put(user, opened.ID), false, nil
}

// post sends card to one channel.
func (c *Channel) post(ctx context.Context, chat string, card bot.Card, extra ...slackgo.MsgOption) (bot.MessageRef, error) {
	extra = append(extra, slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl())
	var ref bot.MessageRef
	err := c.deliver(ctx, "chat.postMessage", chat, card, func(m message) error {
		channel, ts, err := c.api.PostMessageContext(ctx, chat, append(m.options(), extra...)...)
		ref = bot.MessageRef{Chat: channel, Message: ts}
		return err
	})
	if err == nil && (ref.Chat == "" || ref.Message == "") {
		err = errors.New("slack: chat.postMessage: no message in the answer")
	}
	if err != nil {
		return bot.MessageRef{}, err
	}
	return ref, nil
}

// Update shows card in place of the message ref.
func (c *Channel) Update(ctx context.Context, ref bot.MessageRef, card bot.Card) error {
	if ref.Chat == "" || ref.Message == "" {
		return fmt.Errorf("slack: chat.update: no message named: %w", bot.ErrGone)
	}
	return c.deliver(ctx, "chat.update", ref.Chat, card, func(m message) error {
		_, _, _, err := c.api.UpdateMessageContext(ctx, ref.Chat, ref.Message, m.options()...)
		return err
	})
}

// deliver calls try with the full layout of card and, when Slack refuses that
// layout, once more with the plainest one: a card is never lost for its form.
// Where not all arguments have room there, it goes without the buttons that approve.
func (c *Channel) deliver(ctx context.Context, method, chat string, card bot.Card, try func(message) error) error {
	key := limited(method, chat)
	if err := c.openFor(key); err != nil {
		return err
	}
	if err := c.pace(ctx, chat, len(card.Buttons) > 0); err != nil {
		return err
	}
	if card.Whole && !c.Shows(card) {
		card = card.Unapproving()
	}
	err := try(layout(card))
	if layoutRefused[code(err)] {
		c.log.Warn("slack refused a layout; sending the plain one", "method", method, "error", c.failure(method, err))
		if card.Whole && !standsIn(card, minimal(card).blocks) {
			card = card.Unapproving()
		}
		err = try(minimal(card))
	}
	err = c.outcome(method, err)
	c.noteLimit(key, err)
	return err
}

// replyTo is what Event.Reply holds. Trigger opens one form, within 3 s.
type replyTo struct {
	Channel string `json:"channel"`
	User    string `json:"user"`
	Trigger string `json:"trigger,omitempty"`
}

// Answer shows text to the person who acted, and to nobody else, in the
// channel where it happened, or in their direct chat. It only informs: Slack drops such lines on reload
// and in some threads, so nothing may depend on them.
func (c *Channel) Answer(ctx context.Context, ev bot.Event, text string) error {
	var to replyTo
	if err := json.Unmarshal(ev.Reply, &to); err != nil || to.User == "" {
		return errors.New("slack: an event without the address to answer to")
	}
	if text == "" { // Slack does not wait: the tap was acknowledged when it came
		return nil
	}
	if to.Channel == "" { // a page is no channel
		var err error
		if to.Channel, _, err = c.directChat(ctx, to.User); err != nil {
			return err
		}
	}
	m := layout(bot.Card{Head: text})
	_, err := c.api.PostEphemeralContext(ctx, to.Channel, to.User, m.options()...)
	if err == nil || unanswerable[code(err)] {
		return nil
	}
	return c.outcome("chat.postEphemeral", err)
}
