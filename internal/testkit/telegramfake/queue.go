package telegramfake

import (
	"slices"
	"time"
)

// updateKinds are the kinds this fake knows; those without a mark are sent by
// default (core.telegram.org/bots/api#getupdates).
const updateKinds = `message edited_message callback_query my_chat_member`

// updateQueue is what the bot has not confirmed yet.
type updateQueue struct {
	next    int64
	waiting []*update // ascending ids
	again   []*update // confirmed ones that are sent once more
	byID    map[int64]*update
	allowed []string // nil: the default
	poll    *poll
	hook    hook
	// lastConflict paces the answers to conflicts.
	lastConflict time.Time
}

type update struct {
	id        int64
	kind      string
	body      any
	made      time.Time
	handedOut time.Time
	confirmed time.Time
}

// poll is a held getUpdates; end gets the reason when another call ends it.
type poll struct{ end chan *apiError }

// pushLocked queues an update of a kind that the bot wants, and returns its id,
// 0 when it is not wanted. Ids rise by one and never restart.
func (s *Server) pushLocked(kind string, body any) int64 {
	if s.queue.allowed != nil && !slices.Contains(s.queue.allowed, kind) {
		return 0
	}
	u := &update{id: s.queue.next, kind: kind, body: body, made: s.opts.Clock()}
	s.queue.next++
	s.queue.byID[u.id] = u
	s.queue.waiting = append(s.queue.waiting, u)
	s.touchLocked()
	return u.id
}

func (s *Server) endPollLocked(reason *apiError) {
	if s.queue.poll != nil {
		s.queue.poll.end <- reason
		s.queue.poll = nil
	}
}

func (s *Server) leavePoll(mine *poll) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.poll == mine {
		s.queue.poll = nil
		s.touchLocked()
	}
}

// Confirmed is when the bot confirmed an update, zero if it has not.
func (s *Server) Confirmed(updateID int64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.queue.byID[updateID]; u != nil {
		return u.confirmed
	}
	return time.Time{}
}

// HandedOut is when an update was first part of an answer to getUpdates, zero if
// it was not yet.
func (s *Server) HandedOut(updateID int64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.queue.byID[updateID]; u != nil {
		return u.handedOut
	}
	return time.Time{}
}

// WaitConfirmed blocks until the bot has confirmed the update.
func (s *Server) WaitConfirmed(updateID int64) {
	s.t.Helper()
	s.wait("an update to be confirmed", func() bool {
		u := s.queue.byID[updateID]
		return u != nil && !u.confirmed.IsZero()
	})
}

// Settle blocks until every update is confirmed and every tap answered.
func (s *Server) Settle() {
	s.t.Helper()
	s.wait("updates to be confirmed and taps answered", func() bool {
		for _, q := range s.queries {
			if !q.answered && !s.opts.AllowUnanswered {
				return false
			}
		}
		return len(s.queue.waiting) == 0
	})
}

// Redeliver sends an update once more under its old id, at the head of the next
// answer to getUpdates.
func (s *Server) Redeliver(updateID int64) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.queue.byID[updateID]
	if u == nil {
		s.t.Fatalf("telegramfake: there was no update %d", updateID)
		return
	}
	s.queue.again = append(s.queue.again, u)
	s.touchLocked()
}

// Resend sends the content of an update under a new id, as Telegram does when
// an app comes back to the front (tdlib/telegram-bot-api#699).
func (s *Server) Resend(updateID int64) int64 {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.queue.byID[updateID]
	if u == nil {
		s.t.Fatalf("telegramfake: there was no update %d", updateID)
		return 0
	}
	return s.pushLocked(u.kind, u.body)
}

// SkipIDs lets the numbering of updates jump, down as well as up, as it does
// after a week without any.
func (s *Server) SkipIDs(by int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.next += by
}
