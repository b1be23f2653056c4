package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/intake"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/session"
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
	// Channels are the connections that the settings name, one for each namespace.
	Channels []Channel
	// Stored reads the channels that operators have added. Optional.
	Stored func(ctx context.Context) ([]Stored, error)
	// Remote gives the channel of an adapter that is registered for an agent and
	// runs outside, nil when there is none. Optional.
	Remote func(ctx context.Context, namespace, agentID string) (Channel, error)
	// Agent is the agent that Channels belong to: the one whose owners a
	// stranger is sent to.
	Agent string
	// Runner calls tools for people. Nil: they cannot call any.
	Runner Runner
	// Tools are all tools there are, as far as they are known, and Servers what
	// they belong to. Nil: none are known.
	Tools   func(ctx context.Context) []policy.ToolInfo
	Servers *servers.Store
	// DigestWindow is how long further cards for one recipient gather after a
	// card, to come as one list where the channel is a Lister. 0: never.
	DigestWindow time.Duration
	// Intake bounds what the calls of platforms hold. Nil: one with the default
	// bounds.
	Intake *intake.Intake
	// PublicURL is the address of this Holm, named in the help. Optional.
	PublicURL string
	// Zone is that of people who have named none, nil where it is unknown.
	Zone *time.Location
	Log  *slog.Logger
}

// Bot joins channels, people and approvals. Its methods may be called
// concurrently, by any number of processes on one database.
type Bot struct {
	Config
	turns    *turns
	commands []*command

	refreshing sync.Mutex
	receivers  sync.WaitGroup

	mu       sync.Mutex
	channels map[string]*connection
	running  context.Context // that of Run, nil outside it
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
	if c.Intake == nil {
		c.Intake = intake.New(intake.Limits{})
	}
	b := &Bot{Config: c, channels: map[string]*connection{}, turns: newTurns(c.Pool), commands: table()}
	for _, ch := range c.Channels {
		if b.channels[ch.Namespace()] != nil {
			return nil, fmt.Errorf("bot: two channels have the namespace %q", ch.Namespace())
		}
		b.channels[ch.Namespace()] = &connection{Channel: ch, agent: c.Agent}
	}
	return b, nil
}

// Queues are the River queues of the jobs that AddWorkers registers workers for.
// Only processes that have the channels may work them, and those of CallQueue
// only one that has a Runner.
func Queues() []string {
	return []string{InboxQueue, TalkQueue, approvals.CardQueue, session.MessageQueue, CallQueue}
}

// AddWorkers registers the workers of all jobs in Queues.
func (b *Bot) AddWorkers(workers *river.Workers) {
	river.AddWorker(workers, &inboxWorker{bot: b})
	river.AddWorker(workers, &deliverWorker{bot: b})
	river.AddWorker(workers, &updateWorker{bot: b})
	river.AddWorker(workers, &remindWorker{bot: b})
	river.AddWorker(workers, &digestWorker{bot: b})
	river.AddWorker(workers, &requesterWorker{bot: b})
	river.AddWorker(workers, &noticeWorker{bot: b})
	river.AddWorker(workers, &typingWorker{bot: b})
	river.AddWorker(workers, &linkNewsWorker{bot: b})
	river.AddWorker(workers, &linkQuestionWorker{bot: b})
	river.AddWorker(workers, &homeWorker{bot: b})
	river.AddWorker(workers, &callWorker{bot: b})
	river.AddWorker(workers, &answerWorker{bot: b})
	river.AddWorker(workers, &pruneWorker{bot: b})
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
	for namespace, c := range b.opens() {
		if linker, ok := c.Channel.(Linker); ok {
			url, hint := linker.LinkFor(ctx, token)
			links[namespace] = Link{URL: url, Hint: hint}
		}
	}
	return links
}
