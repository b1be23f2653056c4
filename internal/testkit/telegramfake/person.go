package telegramfake

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Person is a human account: who types, taps, blocks and deletes in tests.
type Person struct {
	User
	server      *Server
	deactivated bool
}

// Said is a message that a person sent. UpdateID is 0 when the bot asked for no
// such updates.
type Said struct{ UpdateID, MessageID int64 }

// Tap is a press of a button; UpdateID as in Said.
type Tap struct {
	UpdateID int64
	QueryID  string
}

// Person creates an account that has never met the bot.
func (s *Server) Person(firstName string) *Person {
	s.mu.Lock()
	id := 70_000_000 + s.newIDLocked()
	s.mu.Unlock()
	return s.PersonWithID(id, firstName)
}

// PersonWithID creates an account with a chosen id.
func (s *Server) PersonWithID(id int64, firstName string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Person{User: User{ID: id, FirstName: firstName}, server: s}
	s.users[id] = p
	return p
}

// Open makes the private chat exist, as if the person had pressed Start long
// ago, and returns the person.
func (p *Person) Open() *Person {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.chatLocked()
	return p
}

// chatLocked is the private chat, which the first message creates.
func (p *Person) chatLocked() *chat {
	s := p.server
	if s.chats[p.ID] == nil {
		s.chats[p.ID] = &chat{id: p.ID, kind: "private", person: p}
	}
	return s.chats[p.ID]
}

// Say sends a message to the bot's private chat; it unblocks the bot.
func (p *Person) Say(text string) Said {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	c := p.chatLocked()
	p.setBlockedLocked(c, false)
	return p.sayLocked(c, text, 0)
}

// Reply sends a message in answer to another one.
func (p *Person) Reply(to Message, text string) Said {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.sayLocked(p.server.chats[to.Chat], text, to.ID)
}

// Command sends "/name args"; a missing slash is added.
func (p *Person) Command(line string) Said {
	return p.Say("/" + strings.TrimPrefix(line, "/"))
}

func (p *Person) sayLocked(c *chat, text string, replyTo int64) Said {
	s := p.server
	m := &message{Message: Message{
		Chat: c.id, ID: s.newIDLocked(), From: p.User, Date: s.opts.Clock(),
		Text: text, Entities: typedEntities(text), ReplyTo: replyTo,
	}}
	c.messages = append(c.messages, m)
	body := m.body(c)
	if to := c.message(replyTo); replyTo != 0 && to != nil {
		body["reply_to_message"] = to.body(c)
	}
	return Said{UpdateID: s.pushLocked("message", body), MessageID: m.ID}
}

// Edit changes what the person wrote; the bot hears of it as edited_message.
func (p *Person) Edit(said Said, text string) (updateID int64) {
	p.server.t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	c := p.chatLocked()
	m := c.message(said.MessageID)
	if m == nil || m.From.ID != p.ID {
		p.server.t.Fatalf("telegramfake: person %d wrote no message %d", p.ID, said.MessageID)
		return 0
	}
	m.Text, m.Entities = text, typedEntities(text)
	m.Edits++
	return p.server.pushLocked("edited_message", m.body(c))
}

// typedEntities marks a leading command, as the server does.
func typedEntities(text string) []Entity {
	word, _, _ := strings.Cut(text, " ")
	if len(word) < 2 || word[0] != '/' || strings.ContainsAny(word[1:], "/\n") {
		return nil
	}
	return []Entity{{Type: "bot_command", Length: unitsOf(word)}}
}

// Click presses the button with this label or data on m. The test fails when
// the message does not show it now, or is not in a chat of the person.
func (p *Person) Click(m Message, labelOrData string) Tap {
	p.server.t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	now := p.visibleLocked(m)
	if now == nil {
		return Tap{}
	}
	b, ok := now.Button(labelOrData)
	if !ok || b.Data == "" {
		p.server.t.Fatalf("telegramfake: message %d has no button %q to press; it shows %v", m.ID, labelOrData, now.Buttons)
		return Tap{}
	}
	return p.tapLocked(now, b.Data)
}

// DoubleClick presses a button twice before anything can change.
func (p *Person) DoubleClick(m Message, labelOrData string) (first, second Tap) {
	p.server.t.Helper()
	first = p.Click(m, labelOrData)
	return first, p.ClickStale(m, labelOrData)
}

// ClickStale presses a button that m showed when it was read, though it may be
// gone: an app that has not yet seen the edit, or never will.
func (p *Person) ClickStale(m Message, labelOrData string) Tap {
	p.server.t.Helper()
	b, ok := m.Button(labelOrData)
	if !ok {
		p.server.t.Fatalf("telegramfake: message %d never showed a button %q", m.ID, labelOrData)
	}
	return p.ClickForged(m, b.Data)
}

// ClickForged sends data that need not be on the keyboard: modified clients can
// (core.telegram.org/bots/api#callbackquery warns of it). The message must be
// in a chat of the person.
func (p *Person) ClickForged(m Message, data string) Tap {
	p.server.t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	now := p.visibleLocked(m)
	if now == nil {
		return Tap{}
	}
	return p.tapLocked(now, data)
}

// visibleLocked finds the message as it is now, also a deleted one: an app may
// still show it.
func (p *Person) visibleLocked(m Message) *message {
	p.server.t.Helper()
	c := p.server.chats[m.Chat]
	if c == nil || (c.kind == "private" && c.id != p.ID) || (c.kind != "private" && !c.members[p.ID]) {
		p.server.t.Fatalf("telegramfake: person %d is not in chat %d", p.ID, m.Chat)
		return nil
	}
	i := slices.IndexFunc(c.messages, func(have *message) bool { return have.ID == m.ID })
	if i < 0 {
		p.server.t.Fatalf("telegramfake: chat %d has no message %d", m.Chat, m.ID)
		return nil
	}
	return c.messages[i]
}

// tapLocked makes the callback query, with the message as it is now; of a
// deleted one only its place is told (InaccessibleMessage, date 0).
func (p *Person) tapLocked(m *message, data string) Tap {
	s := p.server
	c := s.chats[m.Chat]
	q := &query{id: itoa(rand.Int64()), from: p.User, data: data, at: s.opts.Clock()}
	body := map[string]any{
		"id": q.id, "from": p.User, "chat_instance": itoa(c.id * 7919), "data": data, "message": m.body(c),
	}
	if m.Deleted {
		body["message"] = map[string]any{"chat": c.body(), "message_id": m.ID, "date": 0}
	}
	tap := Tap{UpdateID: s.pushLocked("callback_query", body), QueryID: q.id}
	if tap.UpdateID != 0 {
		s.queries[q.id] = q
	}
	return tap
}

// Delete removes a message from the chat for both sides.
func (p *Person) Delete(m Message) {
	p.server.t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if now := p.visibleLocked(m); now != nil {
		now.Deleted = true
		p.server.touchLocked()
	}
}

// Block makes the bot unable to write to the person; Say ends it.
func (p *Person) Block() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.setBlockedLocked(p.chatLocked(), true)
}

// Deactivate deletes the account.
func (p *Person) Deactivate() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.deactivated = true
	p.server.touchLocked()
}

func (p *Person) setBlockedLocked(c *chat, blocked bool) {
	if c.blocked == blocked {
		return
	}
	c.blocked = blocked
	status := map[bool]string{false: "member", true: "kicked"}
	p.server.pushMembershipLocked(c, p.User, status[!blocked], status[blocked])
}

// pushMembershipLocked tells the bot that its own standing in c has changed.
func (s *Server) pushMembershipLocked(c *chat, by User, before, now string) {
	member := func(status string) map[string]any { return map[string]any{"user": s.me, "status": status} }
	s.pushLocked("my_chat_member", map[string]any{
		"chat": c.body(), "from": by, "date": s.opts.Clock().Unix(),
		"old_chat_member": member(before), "new_chat_member": member(now),
	})
}
