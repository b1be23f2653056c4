package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// requesterWorker works approvals.NotifyRequesterArgs: it hands the news to
// one job for each of the requester's addresses, so that one that fails
// repeats nothing at the others.
type requesterWorker struct {
	river.WorkerDefaults[approvals.NotifyRequesterArgs]
	bot *Bot
}

// NextRetry implements river.Worker.
func (w *requesterWorker) NextRetry(job *river.Job[approvals.NotifyRequesterArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work queues the messages and completes the job in one transaction.
func (w *requesterWorker) Work(ctx context.Context, job *river.Job[approvals.NotifyRequesterArgs]) error {
	b := w.bot
	r, err := approvals.Lookup(ctx, b.Pool, job.Args.RequestID)
	if isKnown(err, fault.NotFound) {
		return nil // deleted with its agent
	}
	if err != nil {
		return err
	}
	text := news(r, job.Args.Version)
	if text == "" {
		return nil
	}
	addresses, err := identity.Addresses(ctx, b.Pool, r.RequesterID)
	if err != nil {
		return err
	}
	var jobs []river.JobArgs
	for _, a := range addresses {
		jobs = append(jobs, noticeArgs{AgentID: r.AgentID, Channel: a.Channel, Identity: a.Identity, Text: text})
	}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if err := b.queue(ctx, tx, jobs...); err != nil {
			return err
		}
		if err := b.touchHomes(ctx, tx, addresses...); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// news is what a requester is told of the change that made the version; empty
// when another change tells it, or nobody needs to hear of it.
func news(r approvals.Request, version int) string {
	about := fmt.Sprintf("Request #%d (%s)", r.ShortID, oneLine(r.ResourceKey, maxKey))
	switch {
	case r.Status == approvals.Pending:
		return ""
	case r.FinishedAt != nil && version < r.Version:
		return "" // the job of the end itself tells more
	case r.FinishedAt != nil:
		return about + ": " + outcome(r)
	case r.ClaimedAt != nil && version == r.Version:
		return "" // the call began; the decision was told, the end will be
	case r.ResolvedBy != nil && *r.ResolvedBy == r.RequesterID:
		return "" // they did it themselves
	}
	text := about + " was " + ending(r) + "."
	if r.Status == approvals.Expired {
		text = about + " " + ending(r) + "."
	}
	if r.Reason != nil {
		text += " Reason: " + quoted(*r.Reason)
	}
	return text
}

// noticeArgs sends one short message to one person.
type noticeArgs struct {
	AgentID  string `json:"agentId"`
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	Text     string `json:"text"`
}

// Kind names the job in River's table.
func (noticeArgs) Kind() string { return "bot_notice" }

// noticeTime is how long a message is worth sending.
const noticeTime = time.Hour

// noticeWorker works noticeArgs.
type noticeWorker struct {
	river.WorkerDefaults[noticeArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *noticeWorker) Timeout(*river.Job[noticeArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *noticeWorker) NextRetry(job *river.Job[noticeArgs]) time.Time { return retryAt(job.Attempt) }

// Work sends the message. It gives up on a person who cannot be reached, and
// on news that has grown old.
func (w *noticeWorker) Work(ctx context.Context, job *river.Job[noticeArgs]) error {
	ch, err := w.bot.channel(ctx, job.Args.Channel, job.Args.AgentID)
	if err != nil {
		return err
	}
	if ch == nil || time.Since(job.CreatedAt) > noticeTime {
		return nil
	}
	err = w.bot.say(ctx, ch, Recipient{Identity: job.Args.Identity}, job.Args.Text)
	if err != nil {
		return again(job, fmt.Errorf("send notice: %w", err))
	}
	return nil
}

// say sends a message of plain text. A person who cannot be reached is no
// error: nobody else is to be told.
func (b *Bot) say(ctx context.Context, ch Channel, to Recipient, text string) error {
	_, err := ch.Send(ctx, to, Card{Head: text})
	if errors.Is(err, ErrUnreachable) {
		b.Log.Info("a person could not be reached", "channel", ch.Namespace())
		return nil
	}
	return err
}
