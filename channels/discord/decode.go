package discord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bwmarrin/discordgo"

	"holm/bot"
)

// The events of the gateway that concern Holm.
const (
	messageCreate     = "MESSAGE_CREATE"
	interactionCreate = "INTERACTION_CREATE"
)

// kept is the form of stored payloads.
type kept struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// These are the few fields that are read of an event. discordgo's types know all
// and refuse one when any is of a new form.
type (
	written struct {
		ID        string     `json:"id"`
		Type      int        `json:"type"`
		Channel   string     `json:"channel_id"`
		Guild     string     `json:"guild_id"`
		WebhookID string     `json:"webhook_id"`
		Author    *account   `json:"author"`
		Content   string     `json:"content"`
		Attached  []struct{} `json:"attachments"`
		Stickers  []struct{} `json:"sticker_items"`
		Mentions  []struct {
			ID string `json:"id"`
		} `json:"mentions"`
		Reference *struct {
			Type    int    `json:"type"`
			Message string `json:"message_id"`
			Channel string `json:"channel_id"`
		} `json:"message_reference"`
		Referenced *struct {
			Author *account `json:"author"`
		} `json:"referenced_message"`
	}
	account struct {
		ID         string `json:"id"`
		Username   string `json:"username"`
		GlobalName string `json:"global_name"`
		Bot        bool   `json:"bot"`
	}
	interaction struct {
		ID      string   `json:"id"`
		App     string   `json:"application_id"`
		Type    int      `json:"type"`
		Token   string   `json:"token"`
		Guild   string   `json:"guild_id"`
		Channel string   `json:"channel_id"`
		Context *int     `json:"context"`
		User    *account `json:"user"`
		Member  *struct {
			User *account `json:"user"`
		} `json:"member"`
		Message *struct {
			ID string `json:"id"`
		} `json:"message"`
		Data struct {
			Name       string `json:"name"`
			CustomID   string `json:"custom_id"`
			Component  int    `json:"component_type"`
			Components []struct {
				Components []struct {
					CustomID string `json:"custom_id"`
					Value    string `json:"value"`
				} `json:"components"`
			} `json:"components"`
			Options []struct {
				Name  string `json:"name"`
				Value any    `json:"value"`
			} `json:"options"`
		} `json:"data"`
	}
)

// Decode turns a stored payload into an event: taps on buttons, answers of
// forms, the command /holm, direct messages and mentions.
func (c *Channel) Decode(payload json.RawMessage) (bot.Event, bool, error) {
	var k kept
	if err := json.Unmarshal(payload, &k); err != nil {
		return bot.Event{}, false, errors.New("discord: a stored payload that is no event")
	}
	switch k.Type {
	case messageCreate:
		return decodeAs(k, c.text)
	case interactionCreate:
		return decodeAs(k, interaction.event)
	}
	return bot.Event{}, false, nil
}

// decodeAs reads a payload as T. What encoding/json complains of may quote it,
// so that is not passed on.
func decodeAs[T any](k kept, event func(T) (bot.Event, bool)) (bot.Event, bool, error) {
	var p *T
	if json.Unmarshal(k.Payload, &p) != nil || p == nil {
		return bot.Event{}, false, fmt.Errorf("discord: a stored %s does not have the form Discord documents", k.Type)
	}
	ev, ok := event(*p)
	if !ok {
		return bot.Event{}, false, nil
	}
	return ev, true, nil
}

// slashed is a text that was typed as a command although Discord knows none.
var slashed = regexp.MustCompile(`^/[A-Za-z]`)

// text is a direct message or a mention, written by a person: not by a bot or a
// webhook, not forwarded, no notice of Discord's. Without the intent to read all
// messages Discord leaves the content of others empty.
func (c *Channel) text(m written) (bot.Event, bool) {
	forwarded := m.Reference != nil && m.Reference.Type == int(discordgo.MessageReferenceTypeForward)
	plain := m.Type == int(discordgo.MessageTypeDefault) || m.Type == int(discordgo.MessageTypeReply)
	if !m.Author.isPerson() || m.WebhookID != "" || forwarded || !plain {
		return bot.Event{}, false
	}
	said, meant := m.Content, m.Guild == ""
	if m.mentions(c.id) {
		said, meant = strings.NewReplacer("<@"+c.id+">", "", "<@!"+c.id+">", "").Replace(said), true
	}
	said = strings.TrimSpace(said)
	ref := bot.MessageRef{Chat: m.Channel, Message: m.ID}
	unread := len(m.Attached)+len(m.Stickers) > 0
	if !meant || said == "" && !unread || !isRef(ref) {
		return bot.Event{}, false
	}
	ev := m.Author.event(bot.Text)
	ev.Command = slashed.MatchString(said)
	if ev.Command {
		said = said[1:]
	}
	ev.Text, ev.Unread, ev.Message, ev.Direct = said, unread, ref, m.Guild == ""
	if m.Reference != nil && m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == c.id {
		ev.ReplyTo = bot.MessageRef{Chat: cmp.Or(m.Reference.Channel, m.Channel), Message: m.Reference.Message}
	}
	return ev, true
}

func (m written) mentions(id string) bool {
	for _, one := range m.Mentions {
		if one.ID == id {
			return true
		}
	}
	return false
}

// event is what a person did with a button, a form or the command.
func (i interaction) event() (bot.Event, bool) {
	who := i.User
	if i.Member != nil {
		who = i.Member.User
	}
	if !who.isPerson() || i.ID == "" || i.Token == "" {
		return bot.Event{}, false
	}
	ev, ok := i.does(who)
	if !ok {
		return bot.Event{}, false
	}
	to, err := json.Marshal(reply{ID: i.ID, Token: i.Token, App: i.App, Type: i.Type})
	ev.Reply = to
	return ev, err == nil
}

func (i interaction) does(who *account) (bot.Event, bool) {
	switch discordgo.InteractionType(i.Type) {
	case discordgo.InteractionMessageComponent:
		if i.Data.Component != int(discordgo.ButtonComponent) || i.Message == nil {
			return bot.Event{}, false
		}
		ev := who.event(bot.Tap)
		ev.Token, ev.Direct = i.Data.CustomID, i.isDirect()
		ev.Message = bot.MessageRef{Chat: i.Channel, Message: i.Message.ID}
		return ev, true
	case discordgo.InteractionModalSubmit:
		token, ok := strings.CutPrefix(i.Data.CustomID, askForm)
		ev := who.event(bot.Reply)
		ev.Token, ev.Text, ev.Direct = token, i.reason(), true
		return ev, ok
	case discordgo.InteractionApplicationCommand:
		// It is direct wherever it was typed: nobody else sees it, and its answer
		// goes to the direct chat.
		ev := who.event(bot.Text)
		ev.Text, ev.Command, ev.Direct = i.option(), true, true
		return ev, i.Data.Name == commandName && ev.Text != ""
	}
	return bot.Event{}, false
}

func (i interaction) reason() string {
	for _, row := range i.Data.Components {
		for _, field := range row.Components {
			if field.CustomID == reasonField {
				return strings.TrimSpace(field.Value)
			}
		}
	}
	return ""
}

func (i interaction) option() string {
	for _, o := range i.Data.Options {
		if text, ok := o.Value.(string); ok && o.Name == optionName {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// inBotDM is the context of an interaction in the direct chat with the bot.
const inBotDM = 1

func (i interaction) isDirect() bool {
	if i.Context != nil {
		return *i.Context == inBotDM
	}
	return i.Guild == ""
}

// isPerson is false for bots, and when Discord names nobody.
func (a *account) isPerson() bool { return a != nil && snowflake.MatchString(a.ID) && !a.Bot }

func (a *account) event(kind bot.EventKind) bot.Event {
	return bot.Event{Kind: kind, Identity: a.ID, Name: bot.VisibleLine(cmp.Or(a.GlobalName, a.Username))}
}
