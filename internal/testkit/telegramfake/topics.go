package telegramfake

// Topic is a thread of a forum, or of a private chat with topics. The General
// topic is none: messages there have no thread.
type Topic struct {
	server *Server
	chat   *chat
	// ID is the message_thread_id.
	ID int64
}

// Topic opens a topic in the private chat of the person.
func (p *Person) Topic() *Topic {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.server.topicLocked(p.chatLocked())
}

// Topic opens a topic in a group, which is a forum by that.
func (g *Group) Topic() *Topic {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	g.chat.kind = "supergroup"
	return g.server.topicLocked(g.chat)
}

func (s *Server) topicLocked(c *chat) *Topic {
	t := &Topic{server: s, chat: c, ID: s.newIDLocked()}
	if c.topics == nil {
		c.topics = map[int64]bool{}
	}
	c.topics[t.ID] = true
	return t
}

// Say lets a person write in the topic.
func (t *Topic) Say(p *Person, text string) Said {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return p.writeLocked(t.chat, &message{Message: Message{Text: text, Topic: t.ID}})
}

// Close lets nobody write there any more.
func (t *Topic) Close() {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	t.chat.topics[t.ID] = false
}

// topicOf is the topic that a call writes to: the one it names, or that of the
// message it replies to.
func (c *chat) topicOf(call *request, replyTo int64) (int64, error) {
	topic := call.int("message_thread_id")
	if to := c.message(replyTo); topic == 0 && replyTo != 0 && to != nil {
		topic = to.Topic
	}
	open, known := c.topics[topic]
	switch {
	case topic == 0:
		return 0, nil
	case !known:
		return 0, badRequest("message thread not found")
	case !open:
		return 0, badRequest("TOPIC_CLOSED")
	}
	return topic, nil
}

// SendMedia sends a photo or a voice message to the bot's private chat, with a
// caption or none.
func (p *Person) SendMedia(kind, caption string) Said {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.writeLocked(p.chatLocked(), &message{Message: Message{Text: caption}, media: kind})
}

func mediaBody(kind string, id int64) any {
	file := map[string]any{"file_id": "F" + itoa(id), "file_unique_id": "U" + itoa(id)}
	if kind == "photo" {
		file["width"], file["height"] = 90, 90
		return []any{file}
	}
	file["duration"] = 3
	return file
}
