package telegramfake

import "strings"

// Person is a human account: who types, taps, blocks and deletes in tests.
type Person struct {
	User
	server      *Server
	deactivated bool
}

// Said is a message that a person sent. UpdateID is 0 when the bot asked for no
// such updates.
type Said struct{ UpdateID, MessageID int64 }

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
	return p.writeLocked(c, &message{Message: Message{Text: text, ReplyTo: replyTo}})
}

func (p *Person) writeLocked(c *chat, m *message) Said {
	s, replyTo := p.server, m.ReplyTo
	m.Chat, m.ID, m.From, m.Date = c.id, s.newIDLocked(), p.User, s.opts.Clock()
	m.Entities = typedEntities(m.Text)
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
