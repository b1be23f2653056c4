package bot

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
)

// Typer is a capability: the channel can show for some seconds that an answer is
// being worked on.
type Typer interface {
	// Typing shows it in a person's direct chat, in the thread of to.ReplyTo where
	// it has one, or does nothing where that would
	// take room from messages. It never waits for its turn.
	Typing(ctx context.Context, to Recipient) error
}

const (
	// typingPatience is how long a sign may take, and how late it may come.
	typingPatience = 5 * time.Second
	// typingPause lies between two signs: apps show one for five seconds.
	typingPause = 4 * time.Second
	// typingTime is how long a call shows them.
	typingTime = time.Minute
)

// typingArgs shows that an answer is being worked on: once, or while the call
// that was typed in the event runs.
type typingArgs struct {
	AgentID  string `json:"agentId"`
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	EventID  string `json:"eventId,omitempty"`
	// At is the message in whose thread the sign stands, zero for none.
	At MessageRef `json:"at,omitzero"`
}

// Kind names the job in River's table.
func (typingArgs) Kind() string { return "bot_typing" }

// queueTyping is for the person of l, in their direct chat; it goes after all
// other jobs and is tried once. An answer in a group needs no sign.
func (b *Bot) queueTyping(ctx context.Context, tx pgx.Tx, l line, agentID, eventID string) error {
	if _, ok := l.ch.(Typer); !ok || !l.ev.Direct {
		return nil
	}
	_, err := b.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{
		Args:       typingArgs{AgentID: agentID, Channel: l.who.Channel, Identity: l.who.Identity, EventID: eventID, At: l.thread()},
		InsertOpts: &river.InsertOpts{Queue: approvals.CardQueue, MaxAttempts: 1, Priority: 4},
	}})
	if err != nil {
		return fmt.Errorf("queue sign: %w", err)
	}
	return nil
}

// typingWorker works typingArgs.
type typingWorker struct {
	river.WorkerDefaults[typingArgs]
	bot *Bot
}

// Work shows the sign where there still is something to wait for. Whatever goes
// wrong with it is nobody's concern.
func (w *typingWorker) Work(ctx context.Context, job *river.Job[typingArgs]) error {
	a, age := job.Args, age(job.JobRow)
	if age > typingTime || a.EventID == "" && age > typingPatience {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, typingPatience)
	defer cancel()
	if a.EventID != "" {
		c, ok, err := w.bot.readCall(ctx, callArgs{Channel: a.Channel, EventID: a.EventID})
		if err != nil || !ok || c.State != callQueued && c.State != callSent {
			return nil
		}
	}
	ch, err := w.bot.channel(ctx, a.Channel, a.AgentID)
	typer, ok := ch.(Typer)
	if err != nil || !ok {
		return nil
	}
	if err := typer.Typing(ctx, Recipient{Identity: a.Identity, ReplyTo: a.At}); err != nil {
		w.bot.Log.Debug("a sign could not be shown", "channel", a.Channel, "error", err)
		return nil
	}
	if a.EventID == "" {
		return nil
	}
	return river.JobSnooze(typingPause)
}
