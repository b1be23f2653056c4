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
	if s.queue.hook.url != "" {
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
		if u.handedOut.IsZero() {
			u.handedOut = time.Now()
		}
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
