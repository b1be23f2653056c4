package slackfake

import (
	"fmt"
	"maps"
	"slices"
)

// messages are the messages of a channel; the caller holds mu.
func (s *Server) messages(channel string) []Message {
	c := s.conversations[channel]
	if c == nil {
		return nil
	}
	var list []Message
	for _, m := range c.messages {
		if !m.Deleted {
			list = append(list, *m)
		}
	}
	return list
}

// Transcript is what stands in a channel or direct chat, the oldest first.
func (s *Server) Transcript(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages(channel)
}

// Thread is the message ts and the replies under it.
func (s *Server) Thread(channel, ts string) []Message {
	return slices.DeleteFunc(s.Transcript(channel), func(m Message) bool { return m.TS != ts && m.ThreadTS != ts })
}

// Messages is the transcript of the person's direct chat.
func (p *Person) Messages() []Message { return p.server.Transcript(p.Chat()) }

// WaitMessage waits until a message of the direct chat passes ok, and returns
// the newest that does.
func (p *Person) WaitMessage(what string, ok func(Message) bool) Message {
	p.server.t.Helper()
	var found Message
	p.server.await("a message to "+p.user.name+": "+what, func() bool {
		for _, m := range p.server.messages(p.server.direct(p.app, p.user).id) {
			if ok(m) {
				found = m
			}
		}
		return found.TS != ""
	})
	return found
}

// Ephemerals are the lines that only this person saw.
func (p *Person) Ephemerals() []Message {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return slices.Clone(p.server.ephemerals[p.user.id])
}

// WaitEphemerals waits until the person saw n such lines.
func (p *Person) WaitEphemerals(n int) []Message {
	p.server.t.Helper()
	p.server.await(fmt.Sprintf("%d ephemeral lines to %s", n, p.user.name), func() bool {
		return len(p.server.ephemerals[p.user.id]) >= n
	})
	return p.Ephemerals()
}

// Calls are the calls of one method so far, or of all when method is empty.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(method)
}

func (s *Server) callsOf(method string) []Call {
	var list []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			c.Params = maps.Clone(c.Params)
			list = append(list, c)
		}
	}
	return list
}

// WaitCalls waits for n calls of method.
func (s *Server) WaitCalls(method string, n int) []Call {
	s.t.Helper()
	s.await(fmt.Sprintf("%d calls of %s", n, method), func() bool { return len(s.callsOf(method)) >= n })
	return s.Calls(method)
}
