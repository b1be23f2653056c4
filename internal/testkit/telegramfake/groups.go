package telegramfake

// Group is a group chat with the bot in it.
type Group struct {
	server *Server
	chat   *chat
}

// Group creates a group with these members, into which the first of them adds
// the bot. The chat of the bot with each member does not exist by that.
func (s *Server) Group(title string, members ...*Person) *Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &chat{id: -s.newIDLocked(), kind: "group", title: title, members: map[int64]bool{}}
	for _, p := range members {
		c.members[p.ID] = true
	}
	s.chats[c.id] = c
	if len(members) > 0 {
		s.pushMembershipLocked(c, members[0].User, "left", "member")
	}
	return &Group{server: s, chat: c}
}

// ID is the chat id now.
func (g *Group) ID() int64 {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	return g.chat.id
}

// Say lets a member write into the group. The fake's bot sees all messages, as
// one with privacy mode off.
func (g *Group) Say(p *Person, text string) Said {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	return p.sayLocked(g.chat, text, 0)
}

// Post puts a message of the bot there without a call, for taps in groups.
func (g *Group) Post(text string, buttons ...Button) Message {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	m := &message{Message: Message{Chat: g.chat.id, ID: g.server.newIDLocked(), From: g.server.me, Date: g.server.opts.Clock(), Text: text}}
	if len(buttons) > 0 {
		m.Buttons = [][]Button{buttons}
	}
	g.chat.messages = append(g.chat.messages, m)
	return m.Message
}

// KickBot removes the bot.
func (g *Group) KickBot(by *Person) {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	g.chat.kicked = true
	g.server.pushMembershipLocked(g.chat, by.User, "member", "kicked")
}

// Migrate makes a supergroup of the group, under a new id: calls to the old one
// are refused with migrate_to_chat_id.
func (g *Group) Migrate() {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	old := g.chat
	next := &chat{id: -1_000_000_000_000 - g.server.newIDLocked(), kind: "supergroup", title: old.title, members: old.members}
	old.migratedTo = next.id
	g.server.chats[next.id], g.chat = next, next
	g.server.touchLocked()
}
