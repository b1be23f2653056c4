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

// keeper stores envelopes in the inbox, several at once. It outlives single
// sockets, so that a slow store does not hold up the next socket.
type keeper struct {
	ctx     context.Context // of Run; a keeper lives no longer
	channel *Channel
	inbox   bot.Inbox
	slots   chan struct{}
	stores  sync.WaitGroup
}

func newKeeper(ctx context.Context, c *Channel, in bot.Inbox) *keeper {
	return &keeper{ctx: ctx, channel: c, inbox: in, slots: make(chan struct{}, storing)}
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
	caught.Go(&k.stores, k.channel.log, "slack event", func() {
		defer func() { <-k.slots }()
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
