package telegramfake

import (
	"strconv"
	"strings"
)

// User is a Telegram account.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
}

// chat is a private chat (its id is the person's) or a group (negative id).
type chat struct {
	id         int64
	kind       string // private, group, supergroup
	title      string
	person     *Person // of a private chat
	members    map[int64]bool
	blocked    bool // by the person
	kicked     bool // the bot, from a group
	migratedTo int64
	messages   []*message
	topics     map[int64]bool // whether each is open; see Topic
}

// getMe returns the bot as getMe shows it.
func (s *Server) getMe(*request) (any, error) {
	return map[string]any{
		"id": s.me.ID, "is_bot": true, "first_name": s.me.FirstName, "username": s.me.Username,
		"can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
	}, nil
}

// chatLocked finds the chat of a call that needs the bot's right to write there.
func (s *Server) chatLocked(c *request) (*chat, error) {
	raw := c.values["chat_id"]
	if raw == "" {
		return nil, badRequest("chat_id is empty")
	}
	id, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return nil, badRequest("chat not found")
	}
	found := s.chats[id]
	if found == nil {
		return nil, s.noChatLocked(id)
	}
	return found, found.refusal()
}

// noChatLocked tells why the bot has no chat with id: chats are created only by
// people, never by a send.
func (s *Server) noChatLocked(id int64) error {
	for _, c := range s.chats {
		if c.kind != "private" && c.members[id] {
			return errNoInitiative
		}
	}
	return badRequest("chat not found")
}

func (c *chat) refusal() error {
	switch {
	case c.migratedTo != 0:
		e := badRequest("group chat was upgraded to a supergroup chat")
		e.migrateTo = c.migratedTo
		return e
	case c.kicked:
		return errKicked
	case c.person != nil && c.person.deactivated:
		return errDeactivated
	case c.blocked:
		return errBlocked
	}
	return nil
}

func (c *chat) message(id int64) *message {
	for _, m := range c.messages {
		if m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

// body is the Chat object of updates and answers.
func (c *chat) body() map[string]any {
	if c.kind != "private" {
		return map[string]any{"id": c.id, "type": c.kind, "title": c.title}
	}
	b := map[string]any{"id": c.id, "type": "private", "first_name": c.person.FirstName}
	if c.person.Username != "" {
		b["username"] = c.person.Username
	}
	return b
}

func (s *Server) getChat(c *request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.chatLocked(c)
	if err != nil {
		return nil, err
	}
	return found.body(), nil
}

func (s *Server) sendChatAction(c *request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target, err := s.chatLocked(c)
	if err != nil {
		return nil, err
	}
	if _, err := target.topicOf(c, 0); err != nil {
		return nil, err
	}
	if !isOneOf(c.values["action"], `typing upload_photo record_video upload_video record_voice upload_voice
		upload_document choose_sticker find_location record_video_note upload_video_note`) {
		return nil, badRequest("wrong parameter action in request")
	}
	return true, nil
}

func (s *Server) newIDLocked() int64 {
	s.nextID++
	return s.nextID
}

func botID(token string) int64 {
	id, _, _ := strings.Cut(token, ":")
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}
