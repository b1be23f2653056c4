package telegramfake

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	updateLife    = 24 * time.Hour  // core.telegram.org/bots/api#getting-updates
	conflictPause = 3 * time.Second // between two 409 answers, as the open server does
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
	hook    string
	// lastConflict paces the answers to conflicts.
	lastConflict time.Time
}

type update struct {
	id        int64
	kind      string
	body      any
	made      time.Time
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

func (s *Server) getUpdates(c *request) (any, error) {
	mine, err := s.beginPoll(c)
	if err != nil {
		return nil, s.paceConflict(c, err)
	}
	timer := time.NewTimer(time.Duration(min(max(c.int("timeout"), 0), 50)) * time.Second)
	defer timer.Stop()
	for {
		batch, changed := s.batch(c)
		if len(batch) > 0 {
			s.leavePoll(mine)
			return batch, nil
		}
		select {
		case <-changed:
		case reason := <-mine.end:
			return nil, s.paceConflict(c, reason)
		case <-timer.C:
			s.leavePoll(mine)
			return []any{}, nil
		case <-c.ctx.Done():
			s.leavePoll(mine)
			return nil, errGone
		case <-s.done:
			return nil, errGone
		}
	}
}

// beginPoll ends the poll that is held, confirms below the offset and takes the slot.
func (s *Server) beginPoll(c *request) (*poll, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.hook != "" {
		return nil, errHookActive
	}
	if err := s.allowLocked(c); err != nil {
		return nil, err
	}
	s.endPollLocked(errSecondPoller)
	s.confirmLocked(c.int("offset"))
	s.queue.poll = &poll{end: make(chan *apiError, 1)}
	s.touchLocked()
	return s.queue.poll, nil
}

// allowLocked replaces the wanted kinds; a missing parameter keeps the last
// ones and an empty list is the default.
func (s *Server) allowLocked(c *request) error {
	raw, given := c.values["allowed_updates"]
	if !given {
		return nil
	}
	var kinds []string
	if json.Unmarshal([]byte(raw), &kinds) != nil {
		return badRequest("can't parse allowed_updates: expected an Array of String")
	}
	for _, kind := range kinds {
		if !isOneOf(kind, updateKinds) {
			s.t.Errorf("telegramfake: update kind %q is not played by this fake", kind)
		}
	}
	s.queue.allowed = kinds
	if len(kinds) == 0 {
		s.queue.allowed = nil
	}
	return nil
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

// confirmLocked forgets all below offset. A negative offset counts from the
// end; one far in the future is not believed and confirms nothing, as in the
// open server's queue (more than 10 above the last id).
func (s *Server) confirmLocked(offset int64) {
	if offset < 0 {
		offset = s.queue.next + offset
	}
	if offset > s.queue.next+10 {
		return
	}
	kept := s.queue.waiting[:0]
	for _, u := range s.queue.waiting {
		switch {
		case u.id < offset:
			u.confirmed = time.Now()
		case s.opts.Clock().Sub(u.made) < updateLife:
			kept = append(kept, u)
		}
	}
	s.queue.waiting = kept
	s.touchLocked()
}

// batch is what the poll gets now, and the signal of the next change.
func (s *Server) batch(c *request) ([]any, <-chan struct{}) {
	limit := int(c.int("limit"))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(slices.Clone(s.queue.again), s.queue.waiting...)
	s.queue.again = nil
	var batch []any
	for _, u := range all[:min(limit, len(all))] {
		batch = append(batch, map[string]any{"update_id": u.id, u.kind: u.body})
	}
	return batch, s.changed
}

// paceConflict delays a 409 that comes within three seconds of the last one.
func (s *Server) paceConflict(c *request, err error) error {
	refused, ok := err.(*apiError)
	if !ok || !strings.HasPrefix(refused.text, "Conflict") {
		return err
	}
	s.mu.Lock()
	early := time.Since(s.queue.lastConflict) < conflictPause
	if !early {
		s.queue.lastConflict = time.Now()
	}
	s.mu.Unlock()
	pause := Fault{Delay: conflictPause}
	if early && !pause.delay(c.ctx, s.done) {
		return errGone
	}
	return err
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

// SetWebhook does what somebody else with the token may do: it ends the poll
// that is held, and refuses later ones while url is not empty.
func (s *Server) SetWebhook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.hook = url
	if url != "" {
		s.endPollLocked(errHookSet)
	}
}

func (s *Server) getWebhookInfo(*request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{
		"url": s.queue.hook, "has_custom_certificate": false, "pending_update_count": len(s.queue.waiting),
	}, nil
}

func (s *Server) deleteWebhook(c *request) (any, error) {
	if c.bool("drop_pending_updates") {
		s.t.Errorf("telegramfake: pending updates must never be dropped: taps are among them")
	}
	s.SetWebhook("")
	return true, nil
}
