package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/jobs"
	"holm/internal/session"
	"holm/internal/wake"
)

// ChangedKey is published when webhooks were added.
const ChangedKey = "webhooks"

// Fanout turns committed events into deliveries: for each webhook a cursor
// follows the events of its agent, and moves in the transaction that queues the
// deliveries. So appending an event costs nothing for it, and no event is left
// out or queued twice, whichever processes run and die.
type Fanout struct {
	Pool *pgxpool.Pool
	Hub  *wake.Hub
	Jobs *jobs.Client
	Log  *slog.Logger
}

const (
	// pollInterval covers a notice that was lost with its connection.
	pollInterval = 2 * time.Second
	// batchSize bounds the deliveries that one transaction queues.
	batchSize = 500
)

// Run follows all webhooks until ctx ends. Every process may run it.
func (f *Fanout) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := f.turn(ctx); err != nil && ctx.Err() == nil {
			f.Log.Warn("webhooks wait to be told", "error", err)
			wait(ctx, nil)
		}
	}
	return nil
}

// turn makes one pass over all webhooks and waits for the next event.
func (f *Fanout) turn(ctx context.Context) error {
	hooks, err := f.followed(ctx)
	if err != nil {
		return err
	}
	keys := []string{ChangedKey}
	for _, h := range hooks {
		keys = append(keys, "events:"+h.AgentID)
	}
	waiter := f.Hub.Wait(keys...) // before reading, so that nothing is missed in between
	defer waiter.Close()
	more := false
	for _, h := range hooks {
		full, err := f.follow(ctx, h)
		if err != nil {
			return err
		}
		more = more || full
	}
	if !more {
		wait(ctx, waiter.C)
	}
	return nil
}

func wait(ctx context.Context, woken <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-woken:
	case <-time.After(pollInterval):
	}
}

// follower is a webhook as it is followed.
type follower struct {
	ID, AgentID string
	Events      []string
	Cursor      int64
}

func (f *Fanout) followed(ctx context.Context) ([]follower, error) {
	rows, err := f.Pool.Query(ctx, `
		SELECT id, agent_id, events, cursor
		FROM webhooks
		WHERE disabled_at IS NULL
		ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[follower])
}

var errFull = errors.New("enough for one transaction")

// follow queues the deliveries of what came since the cursor; full tells that
// there may be more.
func (f *Fanout) follow(ctx context.Context, h follower) (full bool, err error) {
	last, due := h.Cursor, []river.InsertManyParams(nil)
	stream := session.Stream{
		Pool: f.Pool, Hub: f.Hub, AgentID: h.AgentID, After: h.Cursor, Once: true,
		Idle: func() error { return nil }, IdleEvery: time.Minute,
	}
	err = stream.Run(ctx, func(e session.Event) error {
		if slices.Contains(h.Events, e.Type) {
			due = append(due, river.InsertManyParams{Args: DeliverArgs{WebhookID: h.ID, EventID: e.ID}, InsertOpts: deliverOpts()})
		}
		if last = e.ID; len(due) == batchSize {
			return errFull
		}
		return nil
	})
	if full = errors.Is(err, errFull); err != nil && !full {
		return false, err
	}
	if last == h.Cursor {
		return false, nil
	}
	return full, f.queue(ctx, h, last, due)
}

// queue moves the cursor and queues the deliveries, unless another process has.
func (f *Fanout) queue(ctx context.Context, h follower, last int64, due []river.InsertManyParams) error {
	return db.InTx(ctx, f.Pool, func(tx pgx.Tx) error {
		moved, err := tx.Exec(ctx, `
			UPDATE webhooks
			SET cursor = $3
			WHERE id = $1
			  AND cursor = $2
			  AND disabled_at IS NULL`, h.ID, h.Cursor, last)
		if err != nil {
			return fmt.Errorf("move the cursor of a webhook: %w", err)
		}
		if moved.RowsAffected() == 0 || len(due) == 0 {
			return nil
		}
		if _, err := f.Jobs.InsertManyTx(ctx, tx, due); err != nil {
			return fmt.Errorf("queue deliveries of a webhook: %w", err)
		}
		return nil
	})
}
