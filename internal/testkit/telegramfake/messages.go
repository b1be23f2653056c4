package telegramfake

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxText    = 4096   // code points after parsing, #sendmessage
	maxRaw     = 32_768 // bytes before parsing, the open server's check
	maxCaption = 1024   // code points after parsing, #senddocument
)

// Message is what a person sees in a chat.
type Message struct {
	Chat int64
	ID   int64
	From User
	Date time.Time
	// Text is the visible text after parsing, or the caption of a document.
	Text     string
	Entities []Entity
	Buttons  [][]Button
	// Silent came without a sound; NoPreview without link previews.
	Silent, NoPreview bool
	ReplyTo           int64
	Document          *File
	// Edits counts how often it was edited; Deleted hides it from the person.
	Edits   int
	Deleted bool
}

// message is a Message that can change.
type message struct{ Message }

// Button finds a button by its label or its data.
func (m Message) Button(labelOrData string) (Button, bool) {
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Text == labelOrData || b.Data == labelOrData {
				return b, true
			}
		}
	}
	return Button{}, false
}

func (s *Server) sendMessage(c *request) (any, error) {
	draft, err := s.draft(c, "text", "message text is empty", "message is too long", maxText)
	if err != nil {
		return nil, err
	}
	if draft.Text == "" {
		return nil, badRequest("message text is empty")
	}
	return s.post(c, draft)
}

func (s *Server) sendDocument(c *request) (any, error) {
	file, ok := c.files["document"]
	switch {
	case !ok && c.values["document"] == "":
		return nil, badRequest("there is no document in the request")
	case !ok:
		return nil, badRequest("wrong file identifier/HTTP URL specified")
	case len(file.Data) == 0:
		return nil, badRequest("file must be non-empty")
	case len(file.Data) > maxUpload:
		return nil, &apiError{code: 413, text: "Request Entity Too Large"}
	}
	draft, err := s.draft(c, "caption", "", "message caption is too long", maxCaption)
	if err != nil {
		return nil, err
	}
	draft.Document = &file
	return s.post(c, draft)
}

// draft parses text and keyboard, which Telegram checks before the chat.
func (s *Server) draft(c *request, field, empty, long string, most int) (*message, error) {
	text, entities, err := s.format(c.values[field], c.values["parse_mode"])
	switch {
	case err != nil:
		return nil, err
	case text == "" && empty != "":
		return nil, badRequest(empty)
	case utf8.RuneCountInString(text) > most:
		return nil, badRequest(long)
	}
	buttons, err := s.keyboard(c.values["reply_markup"])
	if err != nil {
		return nil, err
	}
	m := &message{Message: Message{Text: text, Entities: entities, Buttons: buttons, From: s.me}}
	m.Silent = c.bool("disable_notification")
	m.NoPreview, err = s.noPreview(c.values["link_preview_options"])
	return m, err
}

func (s *Server) format(raw, mode string) (string, []Entity, error) {
	switch {
	case !utf8.ValidString(raw):
		return "", nil, badRequest("strings must be encoded in UTF-8")
	case len(raw) > maxRaw:
		return "", nil, badRequest("text is too long")
	case mode == "":
		text, _ := tidy(strings.Map(cleanRune, raw), nil)
		return text, nil, nil
	case strings.EqualFold(mode, "HTML"):
		text, entities, err := parseHTML(raw)
		if err != nil {
			return "", nil, err
		}
		text, entities = tidy(text, entities)
		return text, entities, nil
	case strings.EqualFold(mode, "Markdown"), strings.EqualFold(mode, "MarkdownV2"):
		s.t.Errorf("telegramfake: parse mode %q is not played by this fake", mode)
	}
	return "", nil, badRequest("unsupported parse_mode")
}

func (s *Server) noPreview(raw string) (bool, error) {
	if raw == "" {
		return false, nil
	}
	s.checkFields("LinkPreviewOptions", json.RawMessage(raw))
	var options struct {
		Disabled bool `json:"is_disabled"`
	}
	if json.Unmarshal([]byte(raw), &options) != nil {
		return false, badRequest("can't parse link preview options JSON object")
	}
	return options.Disabled, nil
}

// post puts the draft into its chat.
func (s *Server) post(c *request, m *message) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target, err := s.chatLocked(c)
	if err != nil {
		return nil, err
	}
	if m.ReplyTo, err = s.replyLocked(target, c.values["reply_parameters"]); err != nil {
		return nil, err
	}
	if err := s.takeLocked(target); err != nil {
		return nil, err
	}
	m.Chat, m.ID, m.Date = target.id, s.newIDLocked(), s.opts.Clock()
	target.messages = append(target.messages, m)
	s.touchLocked()
	return m.body(target), nil
}

func (s *Server) replyLocked(target *chat, raw string) (int64, error) {
	if raw == "" {
		return 0, nil
	}
	s.checkFields("ReplyParameters", json.RawMessage(raw))
	var reply struct {
		MessageID int64 `json:"message_id"`
		Anyway    bool  `json:"allow_sending_without_reply"`
	}
	if json.Unmarshal([]byte(raw), &reply) != nil || reply.MessageID == 0 {
		return 0, badRequest("can't parse reply parameters: Can't find field \"message_id\"")
	}
	switch {
	case target.message(reply.MessageID) != nil:
		return reply.MessageID, nil
	case reply.Anyway:
		return 0, nil
	}
	return 0, badRequest("message to be replied not found")
}

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

// body is the Message object of updates and answers.
func (m *message) body(c *chat) map[string]any {
	b := map[string]any{"message_id": m.ID, "from": m.From, "chat": c.body(), "date": m.Date.Unix()}
	field, entities := "text", "entities"
	if m.Document != nil {
		field, entities = "caption", "caption_entities"
		b["document"] = map[string]any{"file_id": "D" + itoa(m.ID), "file_unique_id": "U" + itoa(m.ID), "file_name": m.Document.Name, "file_size": len(m.Document.Data)}
	}
	if m.Text != "" {
		b[field] = m.Text
	}
	if len(m.Entities) > 0 {
		b[entities] = m.Entities
	}
	if len(m.Buttons) > 0 {
		b["reply_markup"] = map[string]any{"inline_keyboard": m.Buttons}
	}
	if m.Edits > 0 {
		b["edit_date"] = m.Date.Unix()
	}
	return b
}
