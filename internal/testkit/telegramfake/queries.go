package telegramfake

import (
	"strconv"
	"time"
	"unicode/utf8"
)

const maxAnswer = 200 // characters, #answercallbackquery

// query is one tap that waits for its answer.
type query struct {
	id       string
	from     User
	data     string
	at       time.Time
	answered bool
}

// Answer is what a tap brought to the screen of the one who tapped.
type Answer struct {
	QueryID string
	User    int64
	Text    string
	// Alert is a box to dismiss; otherwise a toast.
	Alert bool
	At    time.Time
}

func (s *Server) answerCallbackQuery(c *request) (any, error) {
	text := c.values["text"]
	if utf8.RuneCountInString(text) > maxAnswer {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	if c.values["url"] != "" {
		s.t.Errorf("telegramfake: answerCallbackQuery: url is not played by this fake")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := c.values["callback_query_id"]
	q := s.queries[id]
	if _, err := strconv.ParseInt(id, 10, 64); err != nil || q == nil || q.answered {
		return nil, errOldQuery
	}
	if s.opts.Clock().Sub(q.at) > s.opts.QueryLife {
		q.answered = true // too late, but the bot did its part
		s.touchLocked()
		return nil, errOldQuery
	}
	q.answered = true
	s.answers = append(s.answers, Answer{QueryID: id, User: q.from.ID, Text: text, Alert: c.bool("show_alert"), At: s.opts.Clock()})
	s.touchLocked()
	return true, nil
}
