package bot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
)

// Lister is a capability: one message of the channel can list several requests,
// with buttons for each. On other channels every request has a card at once.
type Lister interface {
	// MaxListed is how many requests one message lists at most.
	MaxListed() int
}

// gather puts a card that follows another within DigestWindow into the digest
// that is sent when the window ends. The first card, and one that was in a
// digest before, goes by itself: gathered is false.
func (b *Bot) gather(ctx context.Context, ch Channel, d delivery) (gathered bool, err error) {
	lister, ok := ch.(Lister)
	if !ok || b.DigestWindow <= 0 || d.DigestID != "" {
		return false, nil
	}
	first, err := b.openWindow(ctx, b.Pool, d.address(), false)
	if err != nil || first {
		return false, err
	}
	most := min(lister.MaxListed(), approvals.MaxListed)
	return true, db.InTx(ctx, b.Pool, func(tx pgx.Tx) error { return b.join(ctx, tx, d, most) })
}

// openWindow begins a window of a recipient, unless one is open and anew is
// false.
func (b *Bot) openWindow(ctx context.Context, q db.Queryer, a identity.Address, anew bool) (opened bool, err error) {
	tag, err := q.Exec(ctx, `
		INSERT INTO card_windows AS w (channel, identity, ends_at)
		VALUES ($1, $2, clock_timestamp() + $3::interval)
		ON CONFLICT (channel, identity) DO UPDATE
		SET ends_at = excluded.ends_at
		WHERE w.ends_at < clock_timestamp()
		   OR $4`, a.Channel, a.Identity, b.DigestWindow, anew)
	if err != nil {
		return false, fmt.Errorf("open window: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// join lists d in the digest that its recipient's window gathers, a new one when
// there is none or it is full. The window's row lets one join at a time.
func (b *Bot) join(ctx context.Context, tx pgx.Tx, d delivery, most int) error {
	var ends time.Time
	err := tx.QueryRow(ctx, `
		SELECT ends_at
		FROM card_windows
		WHERE channel = $1
		  AND identity = $2
		FOR UPDATE`, d.Channel, d.Identity).Scan(&ends)
	if err != nil {
		return fmt.Errorf("lock window: %w", err)
	}
	var digestID string
	var place int
	err = tx.QueryRow(ctx, `
		SELECT g.id, (SELECT COALESCE(max(digest_place) + 1, 0) FROM card_deliveries WHERE digest_id = g.id)
		FROM card_digests g
		WHERE g.channel = $1
		  AND g.identity = $2
		  AND g.state = 'collecting'
		ORDER BY g.id DESC
		LIMIT 1
		FOR UPDATE OF g`, d.Channel, d.Identity).Scan(&digestID, &place)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("find digest: %w", err)
	}
	if err != nil || place >= most {
		place = 0
		if digestID, err = b.newDigest(ctx, tx, d.address(), ends); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `
		UPDATE card_deliveries
		SET digest_id = $2,
		    digest_place = $3
		WHERE id = $1`, d.ID, digestID, place)
	if err != nil {
		return fmt.Errorf("join digest: %w", err)
	}
	return nil
}

// newDigest makes a digest and the job that sends it when the window ends.
func (b *Bot) newDigest(ctx context.Context, tx pgx.Tx, a identity.Address, at time.Time) (string, error) {
	id := uuid.Must(uuid.NewV7()).String()
	button := make([]byte, 16)
	rand.Read(button)
	_, err := tx.Exec(ctx, `
		INSERT INTO card_digests (id, channel, identity, button_id)
		VALUES ($1, $2, $3, $4)`, id, a.Channel, a.Identity, button)
	if err != nil {
		return "", fmt.Errorf("make digest: %w", err)
	}
	return id, b.queueDigest(ctx, tx, id, at)
}

// queueDigest queues the sending of a digest, now for a zero time, unless that is
// queued already.
func (b *Bot) queueDigest(ctx context.Context, tx pgx.Tx, id string, at time.Time) error {
	_, err := b.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{Args: digestArgs{DigestID: id}, InsertOpts: &river.InsertOpts{
		Queue: approvals.CardQueue, MaxAttempts: 100, ScheduledAt: at,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}}})
	if err != nil {
		return fmt.Errorf("queue digest: %w", err)
	}
	return nil
}
