package discordfake

import (
	"net/http"
	"slices"
	"strings"
)

// Person is a human with an account and a direct chat with the bot.
type Person struct {
	server  *Server
	id      string
	name    string
	dm      *place
	patient bool
}

// place is a channel: a direct chat, or one of a server.
type place struct {
	id, guild string
	refuse    *failure // what the bot gets that writes there
}

// Person adds a human.
func (s *Server) Person(name string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Person{server: s, id: s.next(), name: name, dm: &place{id: s.next()}}
	s.people[p.id], s.places[p.dm.id] = p, p.dm
	return p
}

// Identity is the person's user id.
func (p *Person) Identity() string { return p.id }

// Chat is the id of the direct chat.
func (p *Person) Chat() string { return p.dm.id }

func (p *Person) account() map[string]any {
	return map[string]any{"id": p.id, "username": strings.ToLower(p.name), "global_name": p.name, "discriminator": "0"}
}

// Room adds a channel of a server and gives its id.
func (s *Server) Room() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := &place{id: s.next(), guild: s.next()}
	s.places[in.id] = in
	return in.id
}

// CloseRoom takes the bot's right to write to a channel of a server away.
func (s *Server) CloseRoom(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[id].refuse = refuse(http.StatusForbidden, 50013, "Missing Permissions")
}

// CloseDirect makes the person take no direct messages, as after a block.
func (p *Person) CloseDirect() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.dm.refuse = refuse(http.StatusForbidden, 50007, "Cannot send messages to this user")
}

// MoveDirect gives the direct chat a new id, and makes the old one unknown.
func (p *Person) MoveDirect() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	delete(p.server.places, p.dm.id)
	p.dm = &place{id: p.server.next()}
	p.server.places[p.dm.id] = p.dm
}

// Patient makes interactions that nobody answers no failure of the test.
func (p *Person) Patient() *Person {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.patient = true
	return p
}

// Write sends a direct message to the bot.
func (p *Person) Write(text string) Message { return p.write(p.dm.id, text, nil) }

// ReplyTo sends a direct message that answers another.
func (p *Person) ReplyTo(m Message, text string) Message { return p.write(p.dm.id, text, &m) }

// WriteIn writes to a channel of a server. The bot, which may not read along, is
// told the text only of what mentions it.
func (p *Person) WriteIn(room, text string) Message { return p.write(room, text, nil) }

// Mention is how a text calls the bot.
const Mention = "<@" + BotID + ">"

func (p *Person) write(in, text string, answers *Message) Message {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	where := s.places[in]
	m := &Message{ID: s.next(), Channel: in, Author: p.id, Content: text}
	s.messages = append(s.messages, m)
	event := map[string]any{"id": m.ID, "channel_id": in, "type": 0, "author": p.account(), "content": text, "mentions": []any{}}
	intent := directMessages
	if where.guild != "" {
		intent, event["guild_id"] = guildMessages, where.guild
		if strings.Contains(text, Mention) {
			event["mentions"] = []any{map[string]any{"id": BotID}}
		} else {
			event["content"] = ""
		}
	}
	if answers != nil {
		event["type"] = 19
		event["message_reference"] = map[string]any{"type": 0, "message_id": answers.ID, "channel_id": answers.Channel}
		event["referenced_message"] = map[string]any{"id": answers.ID, "author": map[string]any{"id": answers.Author, "bot": answers.Author == BotID}}
	}
	s.dispatch("MESSAGE_CREATE", intent, event)
	s.notify()
	return *m
}

// Tap presses the first button with this label on m.
func (p *Person) Tap(m Message, label string) *Interaction {
	p.server.t.Helper()
	for _, b := range m.Buttons {
		if b.Label == label {
			return p.TapData(m, b.CustomID)
		}
	}
	p.server.t.Fatalf("discordfake: no button %q on %+v", label, m)
	return nil
}

// TapData presses a button with this data, there or not, as a forged client may.
func (p *Person) TapData(m Message, data string) *Interaction {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	defer p.server.notify()
	where := p.server.places[m.Channel]
	return p.server.act(p, where, tap, &m, map[string]any{"custom_id": data, "component_type": 2})
}

// Command gives /holm in a channel, or in the direct chat when room is empty.
func (p *Person) Command(room, text string) *Interaction {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	defer p.server.notify()
	where := p.dm
	if room != "" {
		where = p.server.places[room]
	}
	return p.server.act(p, where, command, nil, map[string]any{
		"id": "1", "name": "holm", "type": 1, "options": []any{map[string]any{"name": "say", "type": 3, "value": text}},
	})
}

// Messages are those the bot wrote to the person.
func (p *Person) Messages() []Message { return p.server.In(p.dm.id) }

// In gives what the bot wrote in one channel.
func (s *Server) In(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in(channel)
}

func (s *Server) in(channel string) []Message {
	var list []Message
	for _, m := range s.messages {
		if m.Channel == channel && m.Author == BotID {
			one := *m
			one.Buttons = slices.Clone(m.Buttons)
			list = append(list, one)
		}
	}
	return list
}

// WaitMessage waits for a message of the bot to the person that match likes.
func (p *Person) WaitMessage(what string, match func(Message) bool) Message {
	p.server.t.Helper()
	return p.server.WaitMessageIn(p.dm.id, what, match)
}

// WaitMessageIn is WaitMessage in any channel.
func (s *Server) WaitMessageIn(channel, what string, match func(Message) bool) Message {
	s.t.Helper()
	var found Message
	s.await(what, func() bool {
		for _, m := range s.in(channel) {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}
