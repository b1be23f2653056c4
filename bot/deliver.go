package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/identity"
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
	return b.turns.alone(ctx, job.Args.DeliveryID, func() error {
		d, r, ok, err := readDelivery(ctx, b.Pool, job.Args.DeliveryID)
		if err == nil && ok && d.State == stateQueued && d.waitsInDigest() {
			// Nothing is left to do but to see to it that the digest is sent.
			return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error { return b.queueDigest(ctx, tx, d.DigestID, time.Time{}) })
		}
		if err != nil || !ok || !d.isDue() {
			return err
		}
		wanted, err := b.isWanted(ctx, d, r)
		if err != nil {
			return err
		}
		if !wanted && d.State == stateSent {
			return nil // the digest tells
		}
		if !wanted {
			return b.lost(ctx, d, stateSkipped, nil)
		}
		ch, err := b.channel(ctx, d.Channel, r.AgentID)
		if err != nil {
			return err
		}
		if ch == nil {
			return b.noCard(ctx, d, fmt.Errorf("channel %s is not connected", d.Channel))
		}
		if gathered, err := b.gather(ctx, ch, d); err != nil || gathered {
			return err
		}
		card, hash := b.render(ch, d, r)
		if card.Silent, err = b.silent(ctx, d, r); err != nil {
			return err
		}
		crashpoint.Reach(crashpoint.SendingCard)
		ref, err := ch.Send(ctx, Recipient{Identity: d.Identity}, card)
		crashpoint.Reach(crashpoint.SentCard)
		switch {
		case err == nil:
			// The card is out: a shutdown must not lose where.
			return b.sent(context.WithoutCancel(ctx), ch, d, r, ref, hash)
		case errors.Is(err, ErrUnreachable):
			return b.unreached(context.WithoutCancel(ctx), d, err)
		}
		if failed := b.undelivered(context.WithoutCancel(ctx), b.Pool, d, d.State, err); failed != nil {
			return failed
		}
		return again(job, fmt.Errorf("send card: %w", err))
	})
}

// isWanted tells whether the question is still open and its recipient still one
// who may decide it, whom the arguments may be shown to.
func (b *Bot) isWanted(ctx context.Context, d delivery, r approvals.Request) (bool, error) {
	if r.Status != approvals.Pending {
		return false, nil
	}
	user, known, err := identity.FindUser(ctx, b.Pool, identity.Address{Channel: d.Channel, Identity: d.Identity})
	if err != nil || !known {
		return false, err
	}
	return approvals.MayDecide(ctx, b.Pool, r, user.ID)
}

// waitsFor tells whether r, with its votes, still waits for d's recipient.
func (b *Bot) waitsFor(ctx context.Context, d delivery, r approvals.Request) (bool, error) {
	wanted, err := b.isWanted(ctx, d, r)
	if err != nil || !wanted {
		return false, err
	}
	user, known, err := identity.FindUser(ctx, b.Pool, d.address())
	return known && !r.ApprovedBy(user.ID), err
}

// sent notes where the card is and what it shows. Should the request have
// moved on meanwhile, an edit is queued with it. Should a tap have shown another
// card of the delivery, that one stays and this one is closed.
func (b *Bot) sent(ctx context.Context, ch Channel, d delivery, r approvals.Request, ref MessageRef, hash string) error {
	var wake func()
	second := false
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) (err error) {
		if wake, err = b.Approvals.Delivered(ctx, tx, r.ID); err != nil {
			return err
		}
		var version int
		err = tx.QueryRow(ctx, `
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
			  AND (d.state <> 'sent' OR d.message IN ('', $3))
			RETURNING r.version`, d.ID, ref.Chat, ref.Message, r.Version, hash).Scan(&version)
		if second = errors.Is(err, pgx.ErrNoRows); second {
			return nil
		}
		if err != nil {
			return fmt.Errorf("note sent card: %w", err)
		}
		if err := b.touchRequester(ctx, tx, r.RequesterID, d.address()); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM closed_routes
			WHERE channel = $1
			  AND identity = $2`, d.Channel, d.Identity)
		if err != nil {
			return fmt.Errorf("note open route: %w", err)
		}
		if d.DigestState == digestSent { // its button there has done its work
			if err := b.queue(ctx, tx, digestArgs{DigestID: d.DigestID}); err != nil {
				return err
			}
		}
		if version == r.Version {
			return nil
		}
		return b.queue(ctx, tx, approvals.UpdateCardArgs{DeliveryID: d.ID, Version: version})
	})
	if err == nil {
		wake()
	}
	if err == nil && second {
		b.closeDuplicate(ctx, ch, d.ID, ref, false)
	}
	return err
}

// queue inserts jobs that tell people something.
func (b *Bot) queue(ctx context.Context, tx pgx.Tx, jobs ...river.JobArgs) error {
	if len(jobs) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i, args := range jobs {
		params[i] = river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{
			Queue: approvals.CardQueue, MaxAttempts: 100, Priority: priorityOf(args),
		}}
	}
	if _, err := b.Jobs.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("queue jobs: %w", err)
	}
	return nil
}

// priorityOf lets cards go before talk when there is more to do than time for.
func priorityOf(args river.JobArgs) int {
	if _, talk := args.(noticeArgs); talk {
		return 3
	}
	return 1
}

// undelivered notes the state of a card that could not be brought to its
// recipient, and why; unless it has moved since d was read: a tap may have shown
// meanwhile that it has arrived.
func (b *Bot) undelivered(ctx context.Context, q db.Queryer, d delivery, state string, why error) error {
	reason, tried := "", 0
	if why != nil {
		reason, tried = why.Error(), 1
	}
	_, err := q.Exec(ctx, `
		UPDATE card_deliveries
		SET state = $2,
		    attempts = attempts + $3,
		    last_error = $4
		WHERE id = $1
		  AND state = $5
		  AND message = $6`, d.ID, state, tried, reason, d.State, d.Message)
	if err != nil {
		return fmt.Errorf("note undelivered card: %w", err)
	}
	return nil
}

// lost is undelivered for a card that is not tried again by itself. When it was
// the last on its way, its question reaches nobody, which is known at once.
func (b *Bot) lost(ctx context.Context, d delivery, state string, why error) error {
	if err := b.undelivered(ctx, b.Pool, d, state, why); err != nil {
		return err
	}
	return b.Approvals.MarkUndelivered(ctx, d.RequestID)
}

// noCard notes that d cannot be brought to its recipient. What a digest shows
// stays delivered by that.
func (b *Bot) noCard(ctx context.Context, d delivery, why error) error {
	if d.State == stateSent {
		return b.undelivered(ctx, b.Pool, d, stateSent, why)
	}
	return b.lost(ctx, d, stateUnreachable, why)
}

// unreached is noCard where the person cannot be written to. The card and the route
// are noted together: what the person does next opens the route, and by that brings
// the card.
func (b *Bot) unreached(ctx context.Context, d delivery, why error) error {
	state := stateUnreachable
	if d.State == stateSent {
		state = stateSent
	}
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if err := b.undelivered(ctx, tx, d, state, why); err != nil {
			return err
		}
		if err := b.closeRoute(ctx, tx, d.address(), why.Error()); err != nil {
			return err
		}
		return b.touchHomes(ctx, tx, d.address())
	})
	if err != nil || state == stateSent {
		return err
	}
	return b.Approvals.MarkUndelivered(ctx, d.RequestID)
}

// deliverAgain queues the cards of open requests that did not reach an
// address: its person has just shown that they can be reached now. Without an
// identity it is those of the whole channel, which was not there before.
func (b *Bot) deliverAgain(ctx context.Context, tx pgx.Tx, a identity.Address) error {
	rows, err := tx.Query(ctx, `
		UPDATE card_deliveries d
		SET state = 'queued'
		FROM approval_requests r
		WHERE d.channel = $1
		  AND ($2 = '' OR d.identity = $2)
		  AND d.state IN ('unreachable', 'skipped')
		  AND r.id = d.request_id
		  AND r.status = 'pending'
		RETURNING d.id`, a.Channel, a.Identity)
	if err != nil {
		return fmt.Errorf("find undelivered cards: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.JobArgs, error) {
		var args approvals.DeliverArgs
		err := row.Scan(&args.DeliveryID)
		return args, err
	})
	if err != nil {
		return fmt.Errorf("find undelivered cards: %w", err)
	}
	return b.queue(ctx, tx, jobs...)
}
