package slackfake

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Person is somebody with Slack open in front of them.
type Person struct {
	server *Server
	user   *user
	// app is whom they talk to.
	app *app
}

// Person adds a person to the workspace of the first app.
func (s *Server) Person(name string) *Person { return s.PersonOf(0, name) }

// PersonOf adds a person to the workspace of app n; they talk to that app.
func (s *Server) PersonOf(n int, name string) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[n]
	u := &user{id: fmt.Sprintf("U0%06d", s.next()), team: a.Team, name: name}
	s.users[u.id] = u
	return &Person{server: s, user: u, app: a}
}

// ID is the person's user id.
func (p *Person) ID() string { return p.user.id }

// Team is the person's workspace.
func (p *Person) Team() string { return p.user.team }

// Identity is TEAM/USER.
func (p *Person) Identity() string { return p.user.team + "/" + p.user.id }

// Deactivate ends the person's account.
func (p *Person) Deactivate() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.user.deactivated = true
}

// Chat is the id of the person's direct chat with the app.
func (p *Person) Chat() string {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.server.direct(p.app, p.user).id
}

// DM types text into the direct chat with the app.
func (p *Person) DM(text string) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.direct(p.app, p.user)
	return s.sendMessageEvent(p.app, c, s.typed(p, c, text, ""))
}

// Mention types text into channel, with the app's name before it.
func (p *Person) Mention(channel, text string) *Sent {
	return p.mention(channel, "", text)
}

// MentionInThread is Mention in the thread under the message ts.
func (p *Person) MentionInThread(channel, ts, text string) *Sent {
	return p.mention(channel, ts, text)
}

func (p *Person) mention(channel, ts, text string) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[channel]
	m := s.typed(p, c, text, ts)
	m.Text = "<@" + p.app.BotUser + "> " + m.Text
	return s.mentionEvent(p.app, c, m)
}

var address = regexp.MustCompile(`https?://[^\s&]+`)

// typed adds a message to c as Slack writes down what people type.
func (s *Server) typed(p *Person, c *conversation, text, thread string) *Message {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	text = address.ReplaceAllString(text, "<$0>")
	m := &Message{Channel: c.id, TS: s.stamp(), ThreadTS: thread, User: p.user.id, Text: text}
	c.messages = append(c.messages, m)
	return m
}

// Slash runs the app's slash command with text, from the direct chat.
func (p *Person) Slash(text string) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.direct(p.app, p.user)
	trigger := s.trigger()
	return s.send(p.app, SlashCommands, fmt.Sprintf("the command %.40q", text), trigger, answer{
		"token": "verification-token", "team_id": p.user.team, "team_domain": strings.ToLower(p.user.team),
		"channel_id": c.id, "channel_name": "directmessage", "user_id": p.user.id, "user_name": p.user.name,
		"command": p.app.Command, "text": text, "api_app_id": p.app.ID, "is_enterprise_install": "false",
		"response_url": s.responseURL(p.app, c, nil, p.user.id), "trigger_id": trigger,
	})
}

// trigger is a trigger_id, "n.n.hex".
func (s *Server) trigger() string {
	return fmt.Sprintf("%d.%d.%s", 1_000_000_000+s.next(), 2_000_000_000+s.next(), hexID(32))
}

// Channel makes a channel in the workspace of app n with these members; the
// app's bot is one of them.
func (s *Server) Channel(n int, name string, members ...*Person) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[n]
	c := &conversation{id: fmt.Sprintf("C0%06d", s.next()), team: a.Team, name: name, members: []string{a.BotUser}}
	for _, p := range members {
		c.members = append(c.members, p.user.id)
	}
	s.conversations[c.id] = c
	return c.id
}

// Archive archives a channel.
func (s *Server) Archive(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations[channel].archived = true
}

// RemoveBot takes app n's bot out of a channel.
func (s *Server) RemoveBot(n int, channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[channel]
	c.members = slices.DeleteFunc(c.members, func(id string) bool { return id == s.apps[n].BotUser })
}

// DisableMessagesTab stops app n's direct chats, as its settings can.
func (s *Server) DisableMessagesTab(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[n].tabDisabled = true
}

// RevokeBotToken ends app n's bot token. Open sockets stay.
func (s *Server) RevokeBotToken(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[n].botRevoked = true
}

// RevokeAppToken ends app n's app-level token. Open sockets stay.
func (s *Server) RevokeAppToken(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[n].appRevoked = true
}
