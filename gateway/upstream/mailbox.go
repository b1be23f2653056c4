package upstream

import "sync"

// maxBacklog bounds the progress and log messages that wait for a slow caller,
// in bytes. Beyond it they are dropped; the answer never is.
const maxBacklog = 4 << 20

// mailbox keeps what arrives for one flight in order, so that a caller that is
// slow to take its progress holds up nobody else on the connection.
type mailbox struct {
	ready chan struct{}

	mu    sync.Mutex
	queue []*message
	bytes int
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (b *mailbox) push(m *message) {
	b.mu.Lock()
	if m.isResponse() || b.bytes+m.size <= maxBacklog {
		b.queue = append(b.queue, m)
		b.bytes += m.size
	}
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *mailbox) drain() []*message {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue, b.bytes = nil, 0
	return queue
}
