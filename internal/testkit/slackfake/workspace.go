package slackfake

import (
	"fmt"
	"slices"
)

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

// CloseEdits lets no message be edited any more, as workspaces can decide.
func (s *Server) CloseEdits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.editsClosed = true
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

// DisableHome takes app n's own page away, as its settings can.
func (s *Server) DisableHome(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[n].homeDisabled = true
}

// Grant gives app n's bot token a further scope, as installing it again does.
func (s *Server) Grant(n int, scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[n].BotScopes = append(slices.Clone(s.apps[n].BotScopes), scope)
}
