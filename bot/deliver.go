package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/approvals"
)

// deliverWorker works approvals.DeliverArgs: it sends a card once. Only a
// crash between the platform's answer and the commit sends it a second time.
type deliverWorker struct {
	river.WorkerDefaults[approvals.DeliverArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *deliverWorker) Timeout(*river.Job[approvals.DeliverArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *deliverWorker) NextRetry(job *river.Job[approvals.DeliverArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work sends the card, for as long as its request is open.
func (w *deliverWorker) Work(ctx context.Context, job *river.Job[approvals.DeliverArgs]) error {
	b := w.bot
	return b.alone(ctx, job.Args.DeliveryID, func(conn *pgxpool.Conn) error {
		d, r, ok, err := readDelivery(ctx, conn, job.Args.DeliveryID)
		if err != nil || !ok || d.State != stateQueued {
			return err
		}
		if r.Status != approvals.Pending {
			return undelivered(ctx, conn, d, stateSkipped, nil)
		}
		ch := b.channels[d.Channel]
		if ch == nil {
			return undelivered(ctx, conn, d, stateUnreachable, fmt.Errorf("channel %s is not connected", d.Channel))
		}
		card, hash := b.render(ch, d, r)
		ref, err := ch.Send(ctx, Recipient{Identity: d.Identity}, card)
		switch {
		case err == nil:
			// The card is out: a shutdown must not lose where.
			return b.sent(context.WithoutCancel(ctx), conn, d, r, ref, hash)
		case errors.Is(err, ErrUnreachable):
			return undelivered(ctx, conn, d, stateUnreachable, err)
		}
		if failed := undelivered(context.WithoutCancel(ctx), conn, d, stateQueued, err); failed != nil {
			return failed
		}
		return again(job, fmt.Errorf("send card: %w", err))
	})
}

// sent notes where the card is and what it shows. Should the request have
// moved on meanwhile, an edit is queued with it.
func (b *Bot) sent(ctx context.Context, conn *pgxpool.Conn, d delivery, r approvals.Request, ref MessageRef, hash string) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var version int
		err := tx.QueryRow(ctx, `
			UPDATE card_deliveries d
			SET state = 'sent',
			    chat = $2,
			    message = $3,
			    shown_version = $4,
			    shown_hash = $5,
			    attempts = d.attempts + 1,
			    last_error = '',
			    sent_at = now()
			FROM approval_requests r
			WHERE d.id = $1
			  AND r.id = d.request_id
			RETURNING r.version`, d.ID, ref.Chat, ref.Message, r.Version, hash).Scan(&version)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // deleted with its agent
		}
		if err != nil {
			return fmt.Errorf("note sent card: %w", err)
		}
		if version == r.Version {
			return nil
		}
		return b.queue(ctx, tx, approvals.UpdateCardArgs{DeliveryID: d.ID, Version: version})
	})
}

// queue inserts jobs that tell people something.
func (b *Bot) queue(ctx context.Context, tx pgx.Tx, jobs ...river.JobArgs) error {
	if len(jobs) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i, args := range jobs {
		params[i] = river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{Queue: approvals.CardQueue, MaxAttempts: 100}}
	}
	if _, err := b.Jobs.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("queue jobs: %w", err)
	}
	return nil
}

// undelivered notes the state of a card that could not be brought to its
// recipient, and why.
func undelivered(ctx context.Context, conn *pgxpool.Conn, d delivery, state string, why error) error {
	reason, tried := "", 0
	if why != nil {
		reason, tried = why.Error(), 1
	}
	_, err := conn.Exec(ctx, `
		UPDATE card_deliveries
		SET state = $2,
		    attempts = attempts + $3,
		    last_error = $4
		WHERE id = $1`, d.ID, state, tried, reason)
	if err != nil {
		return fmt.Errorf("note undelivered card: %w", err)
	}
	return nil
}
