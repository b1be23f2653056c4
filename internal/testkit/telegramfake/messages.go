package telegramfake

import "time"

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
	// ForceReply opened the reply box for the person.
	ForceReply bool
	ReplyTo    int64
	// Topic is the one it stands in, 0 for none.
	Topic    int64
	Document *File
	// Edits counts how often it was edited; Deleted hides it from the person.
	Edits   int
	Deleted bool
}

// message is a Message that can change.
type message struct {
	Message
	media string // the kind of what a person sent besides: photo, voice
}

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

// body is the Message object of updates and answers.
func (m *message) body(c *chat) map[string]any {
	b := map[string]any{"message_id": m.ID, "from": m.From, "chat": c.body(), "date": m.Date.Unix()}
	field, entities := "text", "entities"
	if m.Document != nil {
		field, entities = "caption", "caption_entities"
		b["document"] = map[string]any{"file_id": "D" + itoa(m.ID), "file_unique_id": "U" + itoa(m.ID), "file_name": m.Document.Name, "file_size": len(m.Document.Data)}
	}
	if m.media != "" {
		field, entities = "caption", "caption_entities"
		b[m.media] = mediaBody(m.media, m.ID)
	}
	if m.Topic != 0 {
		b["message_thread_id"], b["is_topic_message"] = m.Topic, true
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
