package slack

import (
	"context"
	"errors"
	"sync"
	"time"

	"holm/bot"
	"holm/internal/caught"
)

const (
	// storeTimeout leaves time for the acknowledgement: Slack waits 3 s
	// (docs.slack.dev/apis/events-api/using-socket-mode).
	storeTimeout = 2500 * time.Millisecond
	// storing is how many envelopes are stored at once.
	storing = 16
)

// keeper stores envelopes in the inbox, several at once, but those of one person
// one after the other. It outlives single sockets, so that a slow store does not
// hold up the next socket.
type keeper struct {
	ctx     context.Context // of Run; a keeper lives no longer
	channel *Channel
	inbox   bot.Inbox
	slots   chan struct{}
	stores  sync.WaitGroup

	mu   sync.Mutex
	last map[string]chan struct{} // by person: closed when their newest is stored
}

func newKeeper(ctx context.Context, c *Channel, in bot.Inbox) *keeper {
	return &keeper{ctx: ctx, channel: c, inbox: in, slots: make(chan struct{}, storing), last: map[string]chan struct{}{}}
}

// keep stores e and acknowledges it once that is committed. What could not be
// stored is answered by an apology, where there is one, or not at all. It waits
// only while too many stores are under way.
func (k *keeper) keep(e envelope, ack func(payload any)) {
	select {
	case k.slots <- struct{}{}:
	case <-k.ctx.Done():
		return
	}
	begin, end := k.inTurn(e)
	caught.Go(&k.stores, k.channel.log, "slack event", func() {
		defer func() { <-k.slots }()
		defer end()
		begin()
		err := k.store(e)
		if err == nil {
			k.channel.link.recovered()
			ack(nil)
			return
		}
		if k.ctx.Err() != nil { // the end of Run
			return
		}
		k.channel.notStored(e, err)
		if e.apology != nil {
			ack(e.apology)
		}
	})
}

// inTurn gives what waits until all of e's person that came before e is stored, and
// what lets the next go on. The waits end: each store has its time.
func (k *keeper) inTurn(e envelope) (begin, end func()) {
	ev, _, _ := k.channel.Decode(e.payload)
	if ev.Identity == "" {
		return func() {}, func() {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	before, mine := k.last[ev.Identity], make(chan struct{})
	k.last[ev.Identity] = mine
	begin = func() {
		if before != nil {
			<-before
		}
	}
	return begin, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if close(mine); k.last[ev.Identity] == mine {
			delete(k.last, ev.Identity)
		}
	}
}

// notStored reports a store that failed.
func (c *Channel) notStored(e envelope, err error) {
	c.link.failed(errors.New("an event could not be stored"))
	c.log.Error("slack event not stored, so not acknowledged", "event_id", e.id, "error", err)
}

func (k *keeper) store(e envelope) error {
	ctx, cancel := context.WithTimeout(k.ctx, storeTimeout)
	defer cancel()
	return k.inbox.Store(ctx, namespace, bot.Incoming{ID: e.id, Payload: e.payload})
}

// wait returns when nothing is being stored any more.
func (k *keeper) wait() { k.stores.Wait() }
