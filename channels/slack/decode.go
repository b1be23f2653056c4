package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/slack-go/slack/socketmode"

	"holm/bot"
)

// Decode turns a stored payload into an event. Taps on buttons, direct
// messages, mentions and slash commands concern Holm; nothing else does.
func (c *Channel) Decode(payload json.RawMessage) (bot.Event, bool, error) {
	var k kept
	if err := json.Unmarshal(payload, &k); err != nil {
		return bot.Event{}, false, errors.New("slack: a stored payload that is not an envelope")
	}
	ev, ok, err := decodeKept(k)
	if err != nil {
		return bot.Event{}, false, fmt.Errorf("slack: read a stored %s payload: %w", k.Type, err)
	}
	if !ok {
		return bot.Event{}, false, nil
	}
	return ev, true, nil
}

func decodeKept(k kept) (bot.Event, bool, error) {
	switch k.Type {
	case socketmode.RequestTypeInteractive:
		return decodeAs(k.Payload, interaction.event)
	case socketmode.RequestTypeEventsAPI:
		return decodeAs(k.Payload, callback.event)
	case socketmode.RequestTypeSlashCommands:
		return decodeAs(k.Payload, command.event)
	case "":
		return bot.Event{}, false, errors.New("it has no type")
	}
	return bot.Event{}, false, nil
}

// decodeAs reads payload as T. What encoding/json complains of may quote the
// payload, so it is not passed on.
func decodeAs[T any](payload json.RawMessage, event func(T) (bot.Event, bool, error)) (bot.Event, bool, error) {
	var p *T
	if err := json.Unmarshal(payload, &p); err != nil || p == nil {
		return bot.Event{}, false, errors.New("it does not have the form Slack documents")
	}
	return event(*p)
}

func (p interaction) event() (bot.Event, bool, error) {
	switch p.Type {
	case "view_submission", "view_closed":
		return p.formEvent()
	case "block_actions":
	default:
		return bot.Event{}, false, nil
	}
	if len(p.Actions) != 1 {
		return bot.Event{}, false, fmt.Errorf("it has %d actions, not one", len(p.Actions))
	}
	if p.Actions[0].Type != "button" {
		return bot.Event{}, false, nil
	}
	ref := p.message()
	onPage := ref.Chat == "" && p.Container.ViewID != ""
	if p.User.ID == "" || ref.Chat == "" && !onPage {
		return bot.Event{}, false, errors.New("it lacks the user or the channel")
	}
	ev := bot.Event{
		Kind: bot.Tap, Name: p.name(), Token: p.Actions[0].Value,
		Message: ref, Direct: direct(ref.Chat) || onPage,
	}
	return withActor(ev, p.team(), replyTo{Channel: ref.Chat, User: p.User.ID, Trigger: p.TriggerID})
}

func (p interaction) name() string { return cmp.Or(p.User.Username, p.User.Name) }

// formEvent is a form that was sent or closed. A form of no kind that this
// version shows concerns nobody.
func (p interaction) formEvent() (bot.Event, bool, error) {
	ev := bot.Event{Name: p.name(), Direct: true, Token: p.View.PrivateMetadata}
	ev.Text = p.View.State.Values[reasonBlock][reasonAction].Value
	switch {
	case p.View.CallbackID == askView && p.Type == "view_submission":
		ev.Kind = bot.Reply
	case p.View.CallbackID == askView:
		ev.Kind, ev.Text = bot.Closed, ""
	case p.View.CallbackID == reviewView && p.Type == "view_submission":
		ev.Kind, ev.Token = bot.Tap, p.View.State.Values[choiceBlock][choiceAction].Selected.Value
	default:
		return bot.Event{}, false, nil
	}
	return withActor(ev, p.team(), replyTo{User: p.User.ID, Trigger: p.TriggerID})
}

// written are the subtypes of messages that a person wrote: none, with files, a
// reply that is shown in the channel too, and /me (docs.slack.dev/reference/events/message).
var written = map[string]bool{"": true, "file_share": true, "thread_broadcast": true, "me_message": true}

// event is a direct message or a mention. A reply to a mention goes into its
// thread, which it may begin; one to a direct message only where that stands in
// a thread.
func (c callback) event() (bot.Event, bool, error) {
	e := c.Event
	if e.Type == "" {
		return bot.Event{}, false, errors.New("it has no event")
	}
	if e.Type == "app_home_opened" {
		return c.opened()
	}
	mention := e.Type == "app_mention"
	if !mention && (e.Type != "message" || e.ChannelType != "im") {
		return bot.Event{}, false, nil
	}
	if e.User == "" || e.BotID != "" || !written[e.Subtype] || e.Hidden || c.isSelf(e.User) {
		return bot.Event{}, false, nil
	}
	if e.Channel == "" || e.TS == "" {
		return bot.Event{}, false, errors.New("it lacks the channel or the time")
	}
	ev := bot.Event{Kind: bot.Text, Text: plain(e.Text), Unread: len(e.Files) > 0, Direct: !mention && direct(e.Channel)}
	ev.Message = bot.MessageRef{Chat: e.Channel, Message: e.TS, Thread: e.ThreadTS}
	if mention {
		ev.Text = plain(c.withoutMention(e.Text))
		ev.Message.Thread = cmp.Or(e.ThreadTS, e.TS)
	}
	return withActor(ev, c.team(), replyTo{User: e.User, Channel: e.Channel})
}

// opened is the opening of the app's page; its other tabs concern nobody.
func (c callback) opened() (bot.Event, bool, error) {
	if c.Event.Tab != "home" {
		return bot.Event{}, false, nil
	}
	return withActor(bot.Event{Kind: bot.Opened, Direct: true}, c.team(), replyTo{User: c.Event.User})
}

func (c callback) isSelf(user string) bool {
	for _, a := range c.Authorizations {
		if a.IsBot && a.UserID == user {
			return true
		}
	}
	return false
}

var firstMention = regexp.MustCompile(`^\s*<@[A-Z0-9]+(\|[^>]*)?>`)

// withoutMention takes the bot's own name out of text.
func (c callback) withoutMention(text string) string {
	for _, a := range c.Authorizations {
		if a.IsBot && a.UserID != "" {
			text = strings.ReplaceAll(text, "<@"+a.UserID+">", "")
			return strings.TrimSpace(text)
		}
	}
	return firstMention.ReplaceAllString(text, "")
}

// event of a command is direct wherever it was typed: nobody else sees it, nor
// the answer, which goes where it was typed.
func (c command) event() (bot.Event, bool, error) {
	if c.UserID == "" || c.ChannelID == "" {
		return bot.Event{}, false, errors.New("it lacks the user or the channel")
	}
	ev := bot.Event{Kind: bot.Text, Name: c.UserName, Text: plain(c.Text), Command: true, Direct: true, Message: bot.MessageRef{Chat: c.ChannelID}}
	return withActor(ev, c.TeamID, replyTo{User: c.UserID, Channel: c.ChannelID})
}

// withActor names who acted. Someone whose workspace is not certain is nobody.
func withActor(ev bot.Event, team string, to replyTo) (bot.Event, bool, error) {
	if !isTeam(team) || !isUser(to.User) {
		return bot.Event{}, false, nil
	}
	ev.Identity = team + "/" + to.User
	reply, err := json.Marshal(to)
	if err != nil {
		return bot.Event{}, false, err
	}
	ev.Reply = reply
	return ev, true, nil
}
