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
)

// updateWorker works approvals.UpdateCardArgs: it brings a card to the state
// its request has now, which may be later than the one the job was made for.
type updateWorker struct {
	river.WorkerDefaults[approvals.UpdateCardArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *updateWorker) Timeout(*river.Job[approvals.UpdateCardArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *updateWorker) NextRetry(job *river.Job[approvals.UpdateCardArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work edits the card, and the digest that lists its request. A card that was
// not sent needs no edit: whoever sends it shows the state of that moment, or
// skips it.
func (w *updateWorker) Work(ctx context.Context, job *river.Job[approvals.UpdateCardArgs]) error {
	b := w.bot
	digestID := ""
	err := b.turns.alone(ctx, job.Args.DeliveryID, func() error {
		d, r, ok, err := readDelivery(ctx, b.Pool, job.Args.DeliveryID)
		if err != nil || !ok {
			return err
		}
		digestID = d.DigestID
		if d.State != stateSent || d.Message == "" {
			return nil
		}
		ch, err := b.channel(ctx, d.Channel, r.AgentID)
		if err != nil {
			return err
		}
		if ch == nil {
			// The card stays behind: it is repaired once the channel is back.
			return b.undelivered(ctx, b.Pool, d, stateSent, fmt.Errorf("channel %s is not connected", d.Channel))
		}
		card, hash := b.render(ch, d, r)
		if hash == d.ShownHash {
			return b.shows(ctx, d, r, hash, nil)
		}
		crashpoint.Reach(crashpoint.EditingCard)
		err = ch.Update(ctx, d.ref(), card)
		crashpoint.Reach(crashpoint.EditedCard)
		if err == nil {
			return b.shows(context.WithoutCancel(ctx), d, r, hash, nil)
		}
		if errors.Is(err, ErrGone) || errors.Is(err, ErrUnreachable) {
			return b.shows(ctx, d, r, hash, err)
		}
		return again(job, fmt.Errorf("edit card: %w", err))
	})
	if err != nil || digestID == "" {
		return err
	}
	return again(job, b.refreshDigest(ctx, digestID))
}

// shows notes the state that a card is at. A card that cannot be edited counts
// as edited, with the reason: nothing further can be done for it.
func (b *Bot) shows(ctx context.Context, d delivery, r approvals.Request, hash string, why error) error {
	reason := ""
	if why != nil {
		reason = why.Error()
	}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE card_deliveries
			SET shown_version = $2,
			    shown_hash = $3,
			    last_error = $4
			WHERE id = $1`, d.ID, r.Version, hash, reason)
		if err != nil {
			return fmt.Errorf("note edited card: %w", err)
		}
		return b.touchHomes(ctx, tx, d.address())
	})
}
