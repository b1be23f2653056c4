package slackfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

type user struct {
	id, team, name   string
	bot, deactivated bool
}

// conversation is a channel, or the direct chat of one person with one app.
type conversation struct {
	id, team, name string
	im             bool
	app            *app   // of a direct chat
	owner          string // the person of a direct chat
	members        []string
	archived       bool
	messages       []*Message
}

// Message is one message as it is now. Earlier are the blocks it had before
// its edits, the oldest first.
type Message struct {
	Channel, TS, ThreadTS string
	// User wrote it; BotID and App are set on messages of an app.
	User, BotID, App string
	Text             string
	Blocks           []json.RawMessage
	Earlier          [][]json.RawMessage
	Deleted          bool
}

// Button is a button of a message.
type Button struct {
	BlockID, ActionID, Label, Value, Style string
}

// element is what is read of blocks and of what they hold.
type element struct {
	Type     string            `json:"type"`
	BlockID  string            `json:"block_id"`
	ActionID string            `json:"action_id"`
	Text     json.RawMessage   `json:"text"`
	Value    string            `json:"value"`
	Style    string            `json:"style"`
	Fields   []json.RawMessage `json:"fields"`
	Elements []json.RawMessage `json:"elements"`
}

func parse(raw json.RawMessage) element {
	var e element
	_ = json.Unmarshal(raw, &e)
	return e
}

// textOf is the text of a text object, or of a string.
func textOf(raw json.RawMessage) string {
	var object struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Text
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// Buttons are the buttons a person sees on m.
func (m Message) Buttons() []Button { return buttonsOf(m.Blocks) }

func buttonsOf(blocks []json.RawMessage) []Button {
	var buttons []Button
	for _, raw := range blocks {
		block := parse(raw)
		for _, inner := range block.Elements {
			if e := parse(inner); e.Type == "button" {
				buttons = append(buttons, Button{block.BlockID, e.ActionID, textOf(e.Text), e.Value, e.Style})
			}
		}
	}
	return buttons
}

// Shown is the text a person reads on m, a line for each text, without the
// labels of buttons. The fallback text counts when there are no blocks.
func (m Message) Shown() string {
	if len(m.Blocks) == 0 {
		return m.Text
	}
	var lines []string
	for _, raw := range m.Blocks {
		block := parse(raw)
		if len(block.Text) > 0 {
			lines = append(lines, textOf(block.Text))
		}
		for _, field := range block.Fields {
			lines = append(lines, textOf(field))
		}
		for _, inner := range block.Elements {
			if e := parse(inner); e.Type != "button" {
				lines = append(lines, textOf(inner))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// visible is the conversation id as app a sees it.
func (s *Server) visible(a *app, id string) (*conversation, error) {
	c := s.conversations[id]
	if c == nil || c.team != a.Team || (c.im && c.app != a) {
		return nil, refuse("channel_not_found")
	}
	return c, nil
}

// writable is the conversation id if app a may post there.
func (s *Server) writable(a *app, id string) (*conversation, error) {
	c, err := s.visible(a, id)
	switch {
	case err != nil:
		return nil, err
	case c.archived:
		return nil, refuse("is_archived")
	case c.im && a.tabDisabled:
		return nil, refuse("messages_tab_disabled")
	case c.im && s.users[c.owner].deactivated:
		return nil, refuse("channel_not_found") // assumed
	case !slices.Contains(c.members, a.BotUser):
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

func (s *Server) findDirect(a *app, u *user) (*conversation, bool) {
	for _, c := range s.conversations {
		if c.im && c.app == a && c.owner == u.id {
			return c, true
		}
	}
	return nil, false
}

// direct is the direct chat of u with a, made when there is none.
func (s *Server) direct(a *app, u *user) *conversation {
	if c, ok := s.findDirect(a, u); ok {
		return c
	}
	c := &conversation{
		id: fmt.Sprintf("D0%06d", s.next()), team: a.Team, im: true, app: a, owner: u.id,
		members: []string{u.id, a.BotUser},
	}
	s.conversations[c.id] = c
	return c
}

func (c *conversation) message(ts string) *Message {
	for _, m := range c.messages {
		if m.TS == ts && !m.Deleted {
			return m
		}
	}
	return nil
}

// stamp is a message's time, which is also its id: never the same twice.
func (s *Server) stamp() string {
	now := s.now().Truncate(time.Microsecond)
	if !now.After(s.lastTS) {
		now = s.lastTS.Add(time.Microsecond)
	}
	s.lastTS = now
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)
}
