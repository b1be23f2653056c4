package telegramfake

import (
	"context"
	"maps"
	"slices"
)

// Transcript is what the members of a chat see now, oldest first.
func (s *Server) Transcript(chatID int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transcriptLocked(chatID)
}

func (s *Server) transcriptLocked(chatID int64) []Message {
	var seen []Message
	if c := s.chats[chatID]; c != nil {
		for _, m := range c.messages {
			if !m.Deleted {
				seen = append(seen, m.Message)
			}
		}
	}
	return seen
}

// Answers are the toasts and alerts so far, oldest first.
func (s *Server) Answers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Calls are the requests for one method so far, or all for "", oldest first.
// Held calls are among them, with Done false.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			found = append(found, c.copy())
		}
	}
	return found
}

func (c *Call) copy() Call {
	twin := *c
	twin.Params = maps.Clone(c.Params)
	return twin
}

// WaitMessage blocks until the bot's newest fitting message stands in the chat,
// and returns it. A nil fit takes any.
func (s *Server) WaitMessage(chatID int64, fit func(Message) bool) Message {
	s.t.Helper()
	var found Message
	s.wait("a message", func() bool {
		seen := s.transcriptLocked(chatID)
		for _, m := range slices.Backward(seen) {
			if m.From.ID == s.me.ID && (fit == nil || fit(m)) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// WaitCall blocks until a call of the method has been answered that fits, and
// returns the first one. With a fit, also calls still held are looked at.
func (s *Server) WaitCall(method string, fit func(Call) bool) Call {
	s.t.Helper()
	var found Call
	s.wait("a call of "+method, func() bool {
		for _, c := range s.calls {
			if c.Method == method && ((fit == nil && c.Done) || (fit != nil && fit(*c))) {
				found = c.copy()
				return true
			}
		}
		return false
	})
	return found
}

// WaitAnswer blocks until the tap has been answered in time, and returns what
// the person saw.
func (s *Server) WaitAnswer(tap Tap) Answer {
	s.t.Helper()
	var found Answer
	s.wait("a tap to be answered", func() bool {
		i := slices.IndexFunc(s.answers, func(a Answer) bool { return a.QueryID == tap.QueryID })
		if i >= 0 {
			found = s.answers[i]
		}
		return i >= 0
	})
	return found
}

// WaitPoll blocks until a getUpdates is held, so that the bot surely listens.
func (s *Server) WaitPoll() {
	s.t.Helper()
	s.wait("a poll", func() bool { return s.queue.poll != nil })
}

// WaitNoPoll blocks until no getUpdates is held: the bot is gone, or busy.
func (s *Server) WaitNoPoll() {
	s.t.Helper()
	s.wait("the end of a poll", func() bool { return s.queue.poll == nil })
}

// touchLocked wakes everyone who waits for a change.
func (s *Server) touchLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait blocks until look, called under the lock after each change, reports
// true. It fails the test when Patience is over.
func (s *Server) wait(what string, look func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Patience)
	defer cancel()
	for {
		s.mu.Lock()
		found, changed := look(), s.changed
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.t.Fatalf("telegramfake: waited %s in vain for %s", s.opts.Patience, what)
			return
		}
	}
}
