package discordfake

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf16"
)

// Message is one message as it stands.
type Message struct {
	ID, Channel string
	// Author is a person's id, or BotID.
	Author      string
	Content     string
	Description string // of the embed, if any
	Buttons     []Button
	Files       []File
	ReplyTo     string
	Silent      bool
	Ephemeral   bool
	Edits       int
	nonce       string
}

// Button is a button of a message.
type Button struct {
	Label, CustomID string
	Style           int
}

// File is an attachment.
type File struct {
	Name string
	Data []byte
}

// Shown is what people read: content and embed without formatting.
func (m Message) Shown() string { return plain(m.Content + "\n" + m.Description) }

// plain takes the formatting off a text. What it does not know stays.
func plain(s string) string {
	var b strings.Builder
	for s != "" {
		switch {
		case s[0] == '\\' && len(s) > 1 && strings.ContainsRune("\\`*_~|<>#-+[]():@", rune(s[1])):
			b.WriteByte(s[1])
			s = s[2:]
		case s[0] == '`' && strings.Contains(s[1:], "`"):
			span, rest, _ := strings.Cut(s[1:], "`")
			b.WriteString(span)
			s = rest
		case strings.HasPrefix(s, "**"):
			s = s[2:]
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

// posted is the body of a message, of its edit, and of an answer to an
// interaction.
type posted struct {
	Content         string          `json:"content"`
	TTS             bool            `json:"tts"`
	Embeds          []embed         `json:"embeds"`
	Components      []component     `json:"components"`
	Stickers        json.RawMessage `json:"sticker_ids"`
	AllowedMentions *struct {
		Parse       *[]string `json:"parse"`
		RepliedUser bool      `json:"replied_user"`
	} `json:"allowed_mentions"`
	Reference *struct {
		Message         string `json:"message_id"`
		FailIfNotExists *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
	Flags        int    `json:"flags"`
	Nonce        string `json:"nonce"`
	EnforceNonce bool   `json:"enforce_nonce"`
	CustomID     string `json:"custom_id"` // of a form
	Title        string `json:"title"`     // of a form
}

type embed struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Fields      []struct {
		Name   string `json:"name"`
		Value  string `json:"value"`
		Inline bool   `json:"inline"`
	} `json:"fields"`
}

type component struct {
	Type        int             `json:"type"`
	Components  []component     `json:"components"`
	Label       string          `json:"label"`
	Style       int             `json:"style"`
	Disabled    bool            `json:"disabled"`
	CustomID    string          `json:"custom_id"`
	Placeholder string          `json:"placeholder"`
	Required    bool            `json:"required"`
	MaxLength   int             `json:"max_length"`
	Value       json.RawMessage `json:"value"`
}

func length(s string) int { return len(utf16.Encode([]rune(s))) }

// check is the limits of a message.
func (s *Server) check(p posted, files []File) *failure {
	if p.AllowedMentions == nil || p.AllowedMentions.Parse == nil || len(*p.AllowedMentions.Parse) > 0 {
		s.t.Errorf("discordfake: a message whose mentions may call people: %+v", p)
	}
	if length(p.Content) > 2000 {
		return invalid("content: Must be 2000 or fewer in length.")
	}
	if len(p.Embeds) > 10 || len(files) > 10 || len(p.Nonce) > 25 {
		return invalid("too many embeds or files, or a nonce of %d", len(p.Nonce))
	}
	total := 0
	for _, e := range p.Embeds {
		total += length(e.Title) + length(e.Description)
		if length(e.Title) > 256 || length(e.Description) > 4096 || len(e.Fields) > 25 || e.Title+e.Description == "" && len(e.Fields) == 0 {
			return invalid("embeds: title %d, description %d, fields %d", length(e.Title), length(e.Description), len(e.Fields))
		}
		for _, f := range e.Fields {
			total += length(f.Name) + length(f.Value)
			if f.Name == "" || f.Value == "" || length(f.Name) > 256 || length(f.Value) > 1024 {
				return invalid("embeds: field %q", f.Name)
			}
		}
	}
	if total > 6000 {
		return invalid("embeds: %d characters", total)
	}
	if strings.TrimSpace(p.Content) == "" && len(p.Embeds) == 0 && len(files) == 0 {
		return refuse(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	return checkButtons(p.Components)
}

func checkButtons(rows []component) *failure {
	if len(rows) > 5 {
		return invalid("components: %d rows", len(rows))
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Type != 1 || len(row.Components) < 1 || len(row.Components) > 5 {
			return invalid("components: a row of type %d with %d", row.Type, len(row.Components))
		}
		for _, b := range row.Components {
			if b.Type != 2 || b.Style < 1 || b.Style > 4 || b.CustomID == "" || len(b.CustomID) > 100 || b.Label == "" || length(b.Label) > 80 {
				return invalid("components: button %q with data of %d bytes", b.Label, len(b.CustomID))
			}
			if seen[b.CustomID] {
				return invalid("components: COMPONENT_CUSTOM_ID_DUPLICATED %s", b.CustomID)
			}
			seen[b.CustomID] = true
		}
	}
	return nil
}

// show puts what was posted into m.
func (p posted) show(m *Message) {
	m.Content, m.Description, m.Buttons = p.Content, "", nil
	for _, e := range p.Embeds {
		m.Description += e.Description
	}
	for _, row := range p.Components {
		for _, b := range row.Components {
			m.Buttons = append(m.Buttons, Button{Label: b.Label, CustomID: b.CustomID, Style: b.Style})
		}
	}
}

func (s *Server) createMessage(r request) (any, *failure) {
	var p posted
	if fail := s.into(r, &p); fail != nil {
		return nil, fail
	}
	in, ok := s.places[r.PathValue("channel")]
	if !ok {
		return nil, refuse(http.StatusNotFound, 10003, "Unknown Channel")
	}
	if in.refuse != nil {
		return nil, in.refuse
	}
	if fail := s.check(p, r.files); fail != nil {
		return nil, fail
	}
	if p.EnforceNonce {
		for _, m := range s.messages {
			if m.Channel == in.id && m.nonce == p.Nonce {
				return map[string]any{"id": m.ID, "channel_id": in.id}, nil
			}
		}
	}
	m := &Message{ID: s.next(), Channel: in.id, Author: BotID, Files: r.files, Silent: p.Flags&(1<<12) != 0, nonce: p.Nonce}
	if p.Reference != nil {
		m.ReplyTo = p.Reference.Message
	}
	p.show(m)
	s.messages = append(s.messages, m)
	return map[string]any{"id": m.ID, "channel_id": in.id}, nil
}

func (s *Server) editMessage(r request) (any, *failure) {
	var p posted
	if fail := s.into(r, &p); fail != nil {
		return nil, fail
	}
	if _, ok := s.places[r.PathValue("channel")]; !ok {
		return nil, refuse(http.StatusNotFound, 10003, "Unknown Channel")
	}
	m := s.find(r.PathValue("m"))
	switch {
	case m == nil || m.Channel != r.PathValue("channel"):
		return nil, refuse(http.StatusNotFound, 10008, "Unknown Message")
	case m.Author != BotID:
		return nil, refuse(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	}
	if fail := s.check(p, m.Files); fail != nil {
		return nil, fail
	}
	p.show(m)
	m.Edits++
	return map[string]any{"id": m.ID, "channel_id": m.Channel}, nil
}

func (s *Server) find(id string) *Message {
	for _, m := range s.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// Delete takes a message away.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.messages {
		if m.ID == id {
			s.messages = append(s.messages[:i], s.messages[i+1:]...)
			return
		}
	}
}
