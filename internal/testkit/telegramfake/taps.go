package telegramfake

import (
	"math/rand/v2"
	"slices"
)

// Tap is a press of a button; UpdateID as in Said.
type Tap struct {
	UpdateID int64
	QueryID  string
}

// Click presses the button with this label or data on m. The test fails when
// the message does not show it now, or is not in a chat of the person.
func (p *Person) Click(m Message, labelOrData string) Tap {
	p.server.t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	now := p.visibleLocked(m)
	if now == nil {
		return Tap{}
	}
	b, ok := now.Button(labelOrData)
	if !ok || b.Data == "" {
		p.server.t.Fatalf("telegramfake: message %d has no button %q to press; it shows %v", m.ID, labelOrData, now.Buttons)
		return Tap{}
	}
	return p.tapLocked(now, b.Data)
}

// DoubleClick presses a button twice before anything can change.
func (p *Person) DoubleClick(m Message, labelOrData string) (first, second Tap) {
	p.server.t.Helper()
	first = p.Click(m, labelOrData)
	return first, p.ClickStale(m, labelOrData)
}

// ClickStale presses a button that m showed when it was read, though it may be
// gone: an app that has not yet seen the edit, or never will.
func (p *Person) ClickStale(m Message, labelOrData string) Tap {
	p.server.t.Helper()
	b, ok := m.Button(labelOrData)
	if !ok {
		p.server.t.Fatalf("telegramfake: message %d never showed a button %q", m.ID, labelOrData)
	}
	return p.ClickForged(m, b.Data)
}

// ClickForged sends data that need not be on the keyboard: modified clients can
// (core.telegram.org/bots/api#callbackquery warns of it). The message must be
// in a chat of the person.
func (p *Person) ClickForged(m Message, data string) Tap {
	p.server.t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	now := p.visibleLocked(m)
	if now == nil {
		return Tap{}
	}
	return p.tapLocked(now, data)
}

// visibleLocked finds the message as it is now, also a deleted one: an app may
// still show it.
func (p *Person) visibleLocked(m Message) *message {
	p.server.t.Helper()
	c := p.server.chats[m.Chat]
	if c == nil || (c.kind == "private" && c.id != p.ID) || (c.kind != "private" && !c.members[p.ID]) {
		p.server.t.Fatalf("telegramfake: person %d is not in chat %d", p.ID, m.Chat)
		return nil
	}
	i := slices.IndexFunc(c.messages, func(have *message) bool { return have.ID == m.ID })
	if i < 0 {
		p.server.t.Fatalf("telegramfake: chat %d has no message %d", m.Chat, m.ID)
		return nil
	}
	return c.messages[i]
}

// tapLocked makes the callback query, with the message as it is now; of a
// deleted one only its place is told (InaccessibleMessage, date 0).
func (p *Person) tapLocked(m *message, data string) Tap {
	s := p.server
	c := s.chats[m.Chat]
	q := &query{id: itoa(rand.Int64()), from: p.User, data: data, at: s.opts.Clock()}
	body := map[string]any{
		"id": q.id, "from": p.User, "chat_instance": itoa(c.id * 7919), "data": data, "message": m.body(c),
	}
	if m.Deleted {
		body["message"] = map[string]any{"chat": c.body(), "message_id": m.ID, "date": 0}
	}
	tap := Tap{UpdateID: s.pushLocked("callback_query", body), QueryID: q.id}
	if tap.UpdateID != 0 {
		s.queries[q.id] = q
	}
	return tap
}
