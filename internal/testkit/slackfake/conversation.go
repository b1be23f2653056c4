package slackfake

import (
	"fmt"
	"slices"
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
