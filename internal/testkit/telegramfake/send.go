package telegramfake

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const (
	maxText    = 4096   // code points after parsing, #sendmessage
	maxRaw     = 32_768 // bytes before parsing, the open server's check
	maxCaption = 1024   // code points after parsing, #senddocument
)

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
	if err == nil && c.values["entities"] != "" {
		text, entities, err = s.given(c)
	}
	switch {
	case err != nil:
		return nil, err
	case text == "" && empty != "":
		return nil, badRequest(empty)
	case utf8.RuneCountInString(text) > most:
		return nil, badRequest(long)
	}
	force, err := s.forceReply(c.values["reply_markup"])
	if err != nil {
		return nil, err
	}
	var buttons [][]Button
	if !force {
		if buttons, err = s.keyboard(c.values["reply_markup"]); err != nil {
			return nil, err
		}
	}
	m := &message{Message: Message{Text: text, Entities: entities, Buttons: buttons, ForceReply: force, From: s.me}}
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
	if m.Topic, err = target.topicOf(c, m.ReplyTo); err != nil {
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
