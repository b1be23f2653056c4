package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/wake"
	"holm/policy"
)

// Config is what New needs. All fields without a word on it are required.
type Config struct {
	Pool      *pgxpool.Pool
	Hub       *wake.Hub
	Approvals *approvals.Service
	// Keeper signs the buttons of cards.
	Keeper *secret.Keeper
	// Jobs inserts jobs; a client that works none will do.
	Jobs approvals.Jobs
	// Channels are the connections of this process, one for each namespace.
	Channels []Channel
	// Remote gives the channel of an adapter that is registered for an agent and
	// runs outside, nil when there is none. Optional.
	Remote func(ctx context.Context, namespace, agentID string) (Channel, error)
	// Agent is the agent that the channels belong to: the one whose owners a
	// stranger is sent to.
	Agent string
	// Runner calls tools for people. Nil: they cannot call any.
	Runner Runner
	// Tools are all tools there are, as far as they are known, and Servers what
	// they belong to. Nil: none are known.
	Tools   func(ctx context.Context) []policy.ToolInfo
	Servers *servers.Store
	// PublicURL is the address of this Holm, named in the help. Optional.
	PublicURL string
	Log       *slog.Logger
}

// Bot joins channels, people and approvals. Its methods may be called
// concurrently, by any number of processes on one database.
type Bot struct {
	Config
	channels map[string]Channel
	turns    *turns
	commands []*command

	mu     sync.Mutex
	failed map[string]error // by namespace, channels whose Run gave up
}

var _ Inbox = (*Bot)(nil)

// New checks c and makes a Bot.
func New(c Config) (*Bot, error) {
	switch {
	case c.Pool == nil, c.Hub == nil, c.Approvals == nil, c.Keeper == nil, c.Jobs == nil, c.Log == nil:
		return nil, errors.New("bot: Pool, Hub, Approvals, Keeper, Jobs and Log are required")
	case c.Agent == "":
		return nil, errors.New("bot: Agent is required")
	}
	b := &Bot{Config: c, channels: map[string]Channel{}, turns: newTurns(c.Pool), commands: table(), failed: map[string]error{}}
	for _, ch := range c.Channels {
		if b.channels[ch.Namespace()] != nil {
			return nil, fmt.Errorf("bot: two channels have the namespace %q", ch.Namespace())
		}
		b.channels[ch.Namespace()] = ch
	}
	return b, nil
}

// channel gives the connection through which people of a namespace are told
// of an agent; nil when there is none.
func (b *Bot) channel(ctx context.Context, namespace, agentID string) (Channel, error) {
	if ch := b.channels[namespace]; ch != nil || b.Remote == nil {
		return ch, nil
	}
	ch, err := b.Remote(ctx, namespace, agentID)
	if err != nil {
		return nil, fmt.Errorf("find channel %s: %w", namespace, err)
	}
	return ch, nil
}

// AddWorkers registers the workers of all jobs in approvals.CardQueue,
// session.MessageQueue and CallQueue. Only processes that have the channels may
// work the first two, only those that have a Runner the last.
func (b *Bot) AddWorkers(workers *river.Workers) {
	river.AddWorker(workers, &inboxWorker{bot: b})
	river.AddWorker(workers, &deliverWorker{bot: b})
	river.AddWorker(workers, &updateWorker{bot: b})
	river.AddWorker(workers, &remindWorker{bot: b})
	river.AddWorker(workers, &requesterWorker{bot: b})
	river.AddWorker(workers, &noticeWorker{bot: b})
	river.AddWorker(workers, &linkNewsWorker{bot: b})
	river.AddWorker(workers, &linkQuestionWorker{bot: b})
	river.AddWorker(workers, &homeWorker{bot: b})
	river.AddWorker(workers, &callWorker{bot: b})
	river.AddWorker(workers, &answerWorker{bot: b})
}

// Run receives from all channels until ctx ends, and returns nil when all have
// stopped. A channel that cannot be set up is logged, shown by Health, and
// leaves the others alone.
func (b *Bot) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for namespace, ch := range b.channels {
		wg.Go(func() { b.receive(ctx, namespace, ch) })
	}
	wg.Wait()
	<-ctx.Done()
	return nil
}

func (b *Bot) receive(ctx context.Context, namespace string, ch Channel) {
	err := ch.Run(ctx, b)
	if err == nil || ctx.Err() != nil {
		return
	}
	b.Log.Error("a channel cannot be used", "channel", namespace, "error", err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed[namespace] = err
}

// Health tells how each channel fares, by namespace.
func (b *Bot) Health() map[string]Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]Health, len(b.channels))
	for namespace, ch := range b.channels {
		h := ch.Health()
		if err := b.failed[namespace]; err != nil {
			h.Connected, h.Error = false, err.Error()
		}
		all[namespace] = h
	}
	return all
}

// Webhooks are the addresses that platforms call, by path. Only channels that
// can be called have one.
func (b *Bot) Webhooks() map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for namespace, ch := range b.channels {
		if hook, ok := ch.(Webhook); ok {
			handlers[WebhookPath(b.Agent, namespace)] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hook.ServeWebhook(w, r, b)
			})
		}
	}
	return handlers
}

// Link is how a person redeems an invitation on one channel: an address to
// open, when there is one, and what to do without it.
type Link struct {
	URL  string `json:"url,omitempty"`
	Hint string `json:"hint"`
}

// Links gives the links of an invitation's token, by namespace. Channels that
// cannot name any are left out.
func (b *Bot) Links(ctx context.Context, token string) map[string]Link {
	links := map[string]Link{}
	for namespace, ch := range b.channels {
		if linker, ok := ch.(Linker); ok {
			url, hint := linker.LinkFor(ctx, token)
			links[namespace] = Link{URL: url, Hint: hint}
		}
	}
	return links
}
