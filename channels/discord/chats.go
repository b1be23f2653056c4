package discord

import "sync"

// maxChats bounds the memory of direct chats.
const maxChats = 4096

// chats are the direct chats opened before, by person.
type chats struct {
	mu   sync.Mutex
	byID map[string]string
}

func newChats() *chats { return &chats{byID: map[string]string{}} }

func (c *chats) get(user string) (chat string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	chat, ok = c.byID[user]
	return chat, ok
}

// put notes a chat, in the place of any other when there are too many: opening
// one again gives the same.
func (c *chats) put(user, chat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old := range c.byID {
		if len(c.byID) < maxChats {
			break
		}
		delete(c.byID, old)
	}
	c.byID[user] = chat
}

func (c *chats) forget(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, user)
}
