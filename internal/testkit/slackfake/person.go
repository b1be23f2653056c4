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

// DMInThread types text into the thread under a message of the direct chat.
func (p *Person) DMInThread(ts, text string) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.direct(p.app, p.user)
	return s.sendMessageEvent(p.app, c, s.typed(p, c, text, ts))
}

// EditDM changes what the person typed last into the direct chat.
func (p *Person) EditDM(text string) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.direct(p.app, p.user)
	for _, m := range slices.Backward(c.messages) {
		if m.User == p.user.id && !m.Deleted {
			m.Text = text
			return s.sendChangedEvent(p.app, c, m)
		}
	}
	s.t.Errorf("slackfake: %s has typed nothing to edit", p.user.name)
	return nil
}

// OpenHome opens the app's own page.
func (p *Person) OpenHome() *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	id, payload := s.callback(p.app, answer{
		"type": "app_home_opened", "user": p.user.id, "channel": s.direct(p.app, p.user).id, "tab": "home",
		"event_ts": s.stamp(),
	})
	return s.send(p.app, EventsAPI, "the opening of the home page", id, payload)
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
func (p *Person) Slash(text string) *Sent { return p.SlashIn(p.Chat(), text) }

// SlashIn runs the app's slash command in any channel.
func (p *Person) SlashIn(channel, text string) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[channel]
	trigger := s.trigger(p.app, p.user)
	return s.sendBy(p, SlashCommands, fmt.Sprintf("the command %.40q", text), trigger, answer{
		"token": "verification-token", "team_id": p.user.team, "team_domain": strings.ToLower(p.user.team),
		"channel_id": c.id, "channel_name": "directmessage", "user_id": p.user.id, "user_name": p.user.name,
		"command": p.app.Command, "text": text, "api_app_id": p.app.ID, "is_enterprise_install": "false",
		"response_url": s.responseURL(p.app, c, nil, p.user.id), "trigger_id": trigger,
	})
}
