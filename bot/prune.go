package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"holm/internal/identity"
)

const (
	// KeptFor is how long what has been handled is kept. Platforms repeat what was
	// not confirmed for a day at most: Telegram keeps updates 24 hours
	// (core.telegram.org/bots/api, Getting updates), Slack retries an event three
	// times within minutes and, with delayed events, hourly for 24 hours
	// (docs.slack.dev/apis/events-api), Discord replays what a session of some
	// minutes has missed (docs.discord.com, Gateway, Resuming).
	KeptFor = 7 * 24 * time.Hour
	// PruneEvery is how often what is older is deleted, besides each start.
	PruneEvery = time.Hour
	// pruneBatch rows are deleted at once, so that no lock lasts, and pruneBatches
	// in one turn; the next one goes on.
	pruneBatch, pruneBatches = 1000, 100
	// pruneTime is how long one turn may take.
	pruneTime = 5 * time.Minute
)

// PruneArgs deletes what is done and too old to come again.
type PruneArgs struct{}

// Kind names the job in River's table.
func (PruneArgs) Kind() string { return "prune" }

// pruneWorker works PruneArgs.
type pruneWorker struct {
	river.WorkerDefaults[PruneArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *pruneWorker) Timeout(*river.Job[PruneArgs]) time.Duration { return pruneTime }

// Work tries all tables even when one fails, the largest last.
func (w *pruneWorker) Work(ctx context.Context, _ *river.Job[PruneArgs]) error {
	before := time.Now().Add(-KeptFor)
	var failed error
	for _, prune := range []func(context.Context, time.Time) (int64, error){
		w.bot.pruneCalls, w.bot.prunePrompts, w.bot.pruneTries,
	} {
		failed = errors.Join(failed, untilDone(ctx, before, prune))
	}
	return errors.Join(failed, w.bot.pruneInbox(ctx, before))
}

func untilDone(ctx context.Context, before time.Time, prune func(context.Context, time.Time) (int64, error)) error {
	for range pruneBatches {
		if n, err := prune(ctx, before); err != nil || n < pruneBatch {
			return err
		}
	}
	return nil
}

func (b *Bot) prune(ctx context.Context, table, sql string, args ...any) (int64, error) {
	tag, err := b.Pool.Exec(ctx, sql, args...)
	if err != nil {
		return 0, fmt.Errorf("prune %s: %w", table, err)
	}
	return tag.RowsAffected(), nil
}

// pruneInbox leaves the highest number of each channel, from which LastID goes
// on, and what was not handled. To find those numbers reads the whole table: once
// a turn, not once a batch.
func (b *Bot) pruneInbox(ctx context.Context, before time.Time) error {
	var channels, ids []string
	err := b.Pool.QueryRow(ctx, `
		SELECT array_agg(channel), array_agg(id::text)
		FROM (
		    SELECT channel, max(event_id::bigint) AS id
		    FROM inbox
		    WHERE event_id ~ '^[0-9]{1,18}$'
		    GROUP BY channel
		) last`).Scan(&channels, &ids)
	if err != nil {
		return fmt.Errorf("read last events: %w", err)
	}
	return untilDone(ctx, before, func(ctx context.Context, before time.Time) (int64, error) {
		return b.prune(ctx, "inbox", `
			DELETE FROM inbox
			WHERE (channel, event_id) IN (
			    SELECT i.channel, i.event_id
			    FROM inbox i
			    LEFT JOIN unnest($3::text[], $4::text[]) last (channel, id) ON last.channel = i.channel AND last.id = i.event_id
			    WHERE i.handled_at < $1
			      AND last.id IS NULL
			    LIMIT $2)`, before, pruneBatch, channels, ids)
	})
}

// pruneCalls forgets typed calls with their arguments; the requests they made stay.
func (b *Bot) pruneCalls(ctx context.Context, before time.Time) (int64, error) {
	return b.prune(ctx, "chat_calls", `
		DELETE FROM chat_calls
		WHERE (channel, event_id) IN (
		    SELECT channel, event_id
		    FROM chat_calls
		    WHERE done_at < $1
		    LIMIT $2)`, before, pruneBatch)
}

// prunePrompts forgets questions for a reason, which nobody can answer any more.
func (b *Bot) prunePrompts(ctx context.Context, before time.Time) (int64, error) {
	return b.prune(ctx, "reason_prompts", `
		DELETE FROM reason_prompts
		WHERE (channel, chat, message) IN (
		    SELECT channel, chat, message
		    FROM reason_prompts
		    WHERE created_at < $1
		    LIMIT $2)`, before, pruneBatch)
}

func (b *Bot) pruneTries(ctx context.Context, before time.Time) (int64, error) {
	return identity.ForgetTries(ctx, b.Pool, before, pruneBatch)
}
