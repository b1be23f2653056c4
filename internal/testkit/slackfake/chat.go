package slackfake

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

const (
	postTextLimit   = 40_000 // longer texts of chat.postMessage are truncated
	updateTextLimit = 4_000  // longer texts of chat.update are refused
	maxAttachments  = 100
)

// content is what a message shall show.
type content struct {
	text           string
	blocks         []json.RawMessage
	hasText        bool
	hasBlocks      bool
	hasAttachments bool
}

func (s *Server) content(p map[string]string) (content, error) {
	c := content{text: p["text"]}
	_, c.hasText = p["text"]
	raw, given := p["blocks"]
	c.hasBlocks = given && raw != ""
	if c.hasBlocks {
		blocks, err := s.checkBlocks(raw)
		if err != nil {
			return content{}, err
		}
		c.blocks = blocks
	}
	var attachments []json.RawMessage
	if raw := p["attachments"]; raw != "" && json.Unmarshal([]byte(raw), &attachments) != nil {
		return content{}, refuse("invalid_attachments")
	}
	if len(attachments) > maxAttachments {
		return content{}, refuse("too_many_attachments")
	}
	c.hasAttachments = len(attachments) > 0
	return c, nil
}

func (c content) empty() bool { return c.text == "" && len(c.blocks) == 0 && !c.hasAttachments }

func (s *Server) postMessage(a *app, p map[string]string) (answer, error) {
	if u := s.users[p["channel"]]; u != nil && u.team == a.Team && !u.bot {
		p["channel"] = s.direct(a, u).id
	}
	c, err := s.writable(a, p["channel"])
	if err != nil {
		return nil, err
	}
	what, err := s.content(p)
	if err != nil {
		return nil, err
	}
	if what.empty() {
		return nil, refuse("no_text")
	}
	result := answer{}
	if runes := []rune(what.text); len(runes) > postTextLimit {
		what.text = string(runes[:postTextLimit])
		result["warning"] = "message_truncated"
		result["response_metadata"] = answer{"warnings": []string{"message_truncated"}}
	}
	m := &Message{
		Channel: c.id, TS: s.stamp(), ThreadTS: s.thread(c, p["thread_ts"]),
		User: a.BotUser, BotID: a.BotID, App: a.ID, Text: what.text, Blocks: what.blocks,
	}
	c.messages = append(c.messages, m)
	if c.im {
		s.sendMessageEvent(a, c, m)
	}
	result["channel"], result["ts"], result["message"] = c.id, m.TS, s.wire(m)
	return result, nil
}

// thread is the root of the thread that ts belongs to. Slack posts outside of
// threads that are gone; a reply's ts is what its documentation warns of.
func (s *Server) thread(c *conversation, ts string) string {
	if ts == "" {
		return ""
	}
	root := c.message(ts)
	if root == nil {
		return ""
	}
	if root.ThreadTS != "" && root.ThreadTS != ts {
		s.t.Errorf("slackfake: thread_ts %s is a reply, not the root of a thread", ts)
	}
	return ts
}

func (s *Server) update(a *app, p map[string]string) (answer, error) {
	m, err := s.own(a, p)
	if err != nil {
		return nil, err
	}
	if s.editsClosed {
		return nil, refuse("edit_window_closed")
	}
	what, err := s.content(p)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(what.text) > updateTextLimit {
		return nil, refuse("msg_too_long")
	}
	if what.empty() && !what.hasBlocks {
		return nil, refuse("no_text")
	}
	m.Earlier = append(m.Earlier, m.Blocks)
	if what.hasText {
		m.Text = what.text
	}
	if what.hasText || what.hasBlocks { // a text without blocks removes them
		m.Blocks = what.blocks
	}
	if c := s.conversations[m.Channel]; c.im {
		s.sendChangedEvent(a, c, m)
	}
	return answer{"channel": m.Channel, "ts": m.TS, "text": m.Text, "message": s.wire(m)}, nil
}

// own is the message that p names, which must be the app's own.
func (s *Server) own(a *app, p map[string]string) (*Message, error) {
	c, err := s.writable(a, p["channel"])
	if err != nil {
		return nil, err
	}
	m := c.message(p["ts"])
	switch {
	case m == nil:
		return nil, refuse("message_not_found")
	case m.App != a.ID:
		return nil, refuse("cant_update_message")
	}
	return m, nil
}

func (s *Server) deleteMessage(a *app, p map[string]string) (answer, error) {
	m, err := s.own(a, p)
	if code(err) == "cant_update_message" {
		return nil, refuse("cant_delete_message")
	}
	if err != nil {
		return nil, err
	}
	m.Deleted = true
	return answer{"channel": m.Channel, "ts": m.TS}, nil
}

func (s *Server) postEphemeral(a *app, p map[string]string) (answer, error) {
	c, err := s.writable(a, p["channel"])
	if err != nil {
		return nil, err
	}
	if s.users[p["user"]] == nil || !slices.Contains(c.members, p["user"]) {
		return nil, refuse("user_not_in_channel")
	}
	what, err := s.content(p)
	if err != nil {
		return nil, err
	}
	if what.empty() {
		return nil, refuse("no_text")
	}
	m := Message{Channel: c.id, TS: s.stamp(), User: a.BotUser, BotID: a.BotID, App: a.ID, Text: what.text, Blocks: what.blocks}
	s.ephemerals[p["user"]] = append(s.ephemerals[p["user"]], m)
	return answer{"message_ts": m.TS}, nil
}

// wire is m as Slack sends it.
func (s *Server) wire(m *Message) answer {
	w := answer{"type": "message", "user": m.User, "text": m.Text, "ts": m.TS}
	if m.BotID != "" {
		w["bot_id"], w["app_id"] = m.BotID, m.App
	}
	if m.ThreadTS != "" {
		w["thread_ts"] = m.ThreadTS
	}
	if len(m.Blocks) > 0 {
		w["blocks"] = m.Blocks
	}
	if u := s.users[m.User]; u != nil {
		w["team"] = u.team
	}
	return w
}
