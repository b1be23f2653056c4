package bot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/identity"
)

// Stored is a channel that an operator added while processes ran.
type Stored struct {
	Namespace string
	// AgentID is the agent whose owners a stranger on it is sent to.
	AgentID string
	// Version is another one for each time that the channel was added or changed.
	Version string
	// Open makes the channel; it does no I/O.
	Open func() (Channel, error)
}

// connection is one channel of this process.
type connection struct {
	Channel
	agent string
	// version is that of a stored channel, empty for those of the settings.
	version string
	// stop ends its Run, nil before that began; failed is why it gave up.
	stop   context.CancelFunc
	failed error
}

// storedEvery is how soon a channel shows that no notice told of.
const storedEvery = 30 * time.Second

// Run receives from all channels until ctx ends, and returns nil when all have
// stopped. A channel that cannot be set up is logged, shown by Health, and
// leaves the others alone. Channels that operators add or remove start and
// stop here.
func (b *Bot) Run(ctx context.Context) error {
	changed := b.Hub.Wait(identity.ChannelsChanged)
	defer changed.Close()
	tick := time.NewTicker(storedEvery)
	defer tick.Stop()
	b.mu.Lock()
	b.running = ctx
	for _, c := range b.channels {
		b.launch(c)
	}
	b.mu.Unlock()
	for {
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil {
			b.Log.Warn("stored channels could not be read", "error", err)
		}
		select {
		case <-ctx.Done():
			b.mu.Lock()
			b.running = nil // nothing starts any more
			b.mu.Unlock()
			b.receivers.Wait()
			return nil
		case <-changed.C:
		case <-tick.C:
		}
	}
}

// launch is called with mu held, and does nothing before Run.
func (b *Bot) launch(c *connection) {
	if b.running == nil || c.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(b.running)
	c.stop = stop
	caught.Keep(&b.receivers, b.Log, "channel "+c.Namespace(), func() { b.receive(ctx, c) })
}

func (b *Bot) receive(ctx context.Context, c *connection) {
	err := c.Run(ctx, b)
	if err == nil || ctx.Err() != nil {
		return
	}
	b.Log.Error("a channel cannot be used", "channel", c.Namespace(), "error", err)
	b.mu.Lock()
	defer b.mu.Unlock()
	c.failed = err
}

// Refresh opens the channels that were stored since the last look, and closes
// those that were removed. Run does so by itself; before Run it lets jobs find
// their channels. One that settings name goes before one that is stored. What
// waits for the people of a channel that is there now is sent.
func (b *Bot) Refresh(ctx context.Context) error {
	if b.Stored == nil {
		return nil
	}
	b.refreshing.Lock() // the last to read is the last to act
	defer b.refreshing.Unlock()
	list, err := b.Stored(ctx)
	if err != nil {
		return fmt.Errorf("read stored channels: %w", err)
	}
	for _, namespace := range b.match(list) {
		err = errors.Join(err, db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
			return b.deliverAgain(ctx, tx, identity.Address{Channel: namespace})
		}))
	}
	return err
}

// match opens and closes channels so that those of list are open, and names the
// new ones.
func (b *Bot) match(list []Stored) (opened []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	there := map[string]string{}
	for _, s := range list {
		there[s.Namespace] = s.Version
	}
	for namespace, c := range b.channels {
		if c.version != "" && there[namespace] == "" {
			b.close(namespace, c)
		}
	}
	for _, s := range list {
		old := b.channels[s.Namespace]
		switch {
		case old == nil && b.open(s):
			b.Log.Info("a channel was added", "channel", s.Namespace)
		case old != nil && old.version != "" && old.version != s.Version && b.open(s):
			b.Log.Info("a channel was changed", "channel", s.Namespace)
			b.handOver(old, b.channels[s.Namespace])
		default:
			continue
		}
		opened = append(opened, s.Namespace)
	}
	return opened
}

// handover is the longest that a channel receives beside the one that took its
// place.
const handover = 10 * time.Second

// handOver stops old once next receives: what a platform says while nobody
// listens may be lost. What both receive is stored once. It is called with mu
// held.
func (b *Bot) handOver(old, next *connection) {
	running := b.running
	if old.stop == nil || running == nil { // nothing receives yet, or any more
		return
	}
	caught.Go(&b.receivers, b.Log, "handover", func() {
		defer old.stop()
		late := time.After(handover)
		look := time.NewTicker(50 * time.Millisecond)
		defer look.Stop()
		for !next.Health().Connected {
			select {
			case <-running.Done():
				return
			case <-late:
				return
			case <-look.C:
			}
		}
	})
}

// open is called with mu held.
func (b *Bot) open(s Stored) (ok bool) {
	ch, err := s.Open()
	if err != nil {
		b.Log.Error("a stored channel cannot be used", "channel", s.Namespace, "error", err)
		return false
	}
	c := &connection{Channel: ch, agent: s.AgentID, version: s.Version}
	b.channels[s.Namespace] = c
	b.launch(c)
	return true
}

// close is called with mu held.
func (b *Bot) close(namespace string, c *connection) {
	delete(b.channels, namespace)
	if c.stop != nil {
		c.stop()
	}
	b.Log.Info("a channel was removed", "channel", namespace)
}

// connected gives a connection of this process, nil when there is none. One
// that was stored a moment ago may not have been heard of yet: it is looked for.
func (b *Bot) connected(ctx context.Context, namespace string) (*connection, error) {
	if c := b.opened(namespace); c != nil {
		return c, nil
	}
	if err := b.Refresh(ctx); err != nil {
		return nil, err
	}
	return b.opened(namespace), nil
}

func (b *Bot) opened(namespace string) *connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.channels[namespace]
}

// opens are all connections by namespace.
func (b *Bot) opens() map[string]connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]connection, len(b.channels))
	for namespace, c := range b.channels {
		all[namespace] = *c
	}
	return all
}

// agentOf is the agent that a channel belongs to: the one that strangers on it
// are sent to.
func (b *Bot) agentOf(namespace string) string {
	if c := b.opened(namespace); c != nil {
		return c.agent
	}
	return b.Agent
}

// channel gives the connection through which people of a namespace are told
// of an agent; nil when there is none.
func (b *Bot) channel(ctx context.Context, namespace, agentID string) (Channel, error) {
	c, err := b.connected(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return c.Channel, nil
	}
	if b.Remote == nil {
		return nil, nil
	}
	ch, err := b.Remote(ctx, namespace, agentID)
	if err != nil {
		return nil, fmt.Errorf("find channel %s: %w", namespace, err)
	}
	return ch, nil
}

// ChannelState is what operators see of one of the channels of this process.
type ChannelState struct {
	Namespace, AgentID string
	// Stored tells that an operator added it; the settings name the others.
	Stored bool
	Health
}

// States tells how each channel fares, ordered by namespace.
func (b *Bot) States() []ChannelState {
	var all []ChannelState
	for namespace, c := range b.opens() {
		h := c.Health()
		if c.failed != nil {
			h.Connected, h.Error = false, c.failed.Error()
		}
		all = append(all, ChannelState{Namespace: namespace, AgentID: c.agent, Stored: c.version != "", Health: h})
	}
	slices.SortFunc(all, func(x, y ChannelState) int { return strings.Compare(x.Namespace, y.Namespace) })
	return all
}

// ServeWebhook answers the platform of a channel; see WebhookPath. An agent or
// a namespace whose platform does not call is not found.
func (b *Bot) ServeWebhook(w http.ResponseWriter, r *http.Request, agentID, namespace string) {
	c := b.opened(namespace)
	if c == nil || c.agent != agentID {
		http.NotFound(w, r)
		return
	}
	hook, ok := c.Channel.(Webhook)
	if !ok {
		http.NotFound(w, r)
		return
	}
	visit, err := b.Intake.Enter("webhook of " + namespace)
	if err != nil {
		refuseCall(w, err)
		return
	}
	defer visit.Leave()
	r.Body = visit.Body(r.Body)
	hook.ServeWebhook(w, r, b)
}
