package telegramfake

import (
	"reflect"
	"time"
)

func (s *Server) editMessageText(c *request) (any, error) {
	draft, err := s.draft(c, "text", "message text is empty", "message is too long", maxText)
	if err != nil {
		return nil, err
	}
	return s.edit(c, func(m *message) error {
		if m.Document != nil {
			return badRequest("there is no text in the message to edit")
		}
		m.Text, m.Entities, m.Buttons = draft.Text, draft.Entities, draft.Buttons
		return nil
	})
}

func (s *Server) editMessageReplyMarkup(c *request) (any, error) {
	buttons, err := s.keyboard(c.values["reply_markup"])
	if err != nil {
		return nil, err
	}
	return s.edit(c, func(m *message) error { m.Buttons = buttons; return nil })
}

// edit changes a message of the bot. Without reply_markup its keyboard goes.
func (s *Server) edit(c *request, change func(*message) error) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target, err := s.chatLocked(c)
	if err != nil {
		return nil, err
	}
	m := target.message(c.int("message_id"))
	switch {
	case c.int("message_id") == 0:
		return nil, badRequest("message identifier is not specified")
	case m == nil:
		return nil, badRequest("message to edit not found")
	case m.From.ID != s.me.ID:
		return nil, badRequest("message can't be edited")
	}
	next := *m
	if err := change(&next); err != nil {
		return nil, err
	}
	if next.sameAs(m) {
		return nil, errNotModified
	}
	if err := s.takeLocked(target); err != nil {
		return nil, err
	}
	next.Edits++
	*m = next
	s.touchLocked()
	return m.body(target), nil
}

func (m *message) sameAs(other *message) bool {
	return m.Text == other.Text && reflect.DeepEqual(m.Entities, other.Entities) && reflect.DeepEqual(m.Buttons, other.Buttons)
}

func (s *Server) deleteMessage(c *request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target, err := s.chatLocked(c)
	if err != nil {
		return nil, err
	}
	m := target.message(c.int("message_id"))
	switch {
	case m == nil:
		return nil, badRequest("message to delete not found")
	case s.opts.Clock().Sub(m.Date) > 48*time.Hour: // #deletemessage
		return nil, badRequest("message can't be deleted for everyone")
	}
	m.Deleted = true
	s.touchLocked()
	return true, nil
}
