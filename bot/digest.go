package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
)

// The states of a digest. One that is collecting takes further cards; a closed
// one is being sent; the cards of a dissolved one went out by themselves.
const (
	digestCollecting = "collecting"
	digestClosed     = "closed"
	digestSent       = "sent"
	digestDissolved  = "dissolved"
)

// digestTries is how often a digest is tried before its cards go by themselves.
const digestTries = 3

// digestArgs sends one digest, or brings it to what holds now.
type digestArgs struct {
	DigestID string `json:"digestId"`
}

// Kind names the job in River's table.
func (digestArgs) Kind() string { return "bot_digest" }

// digestWorker works digestArgs.
type digestWorker struct {
	river.WorkerDefaults[digestArgs]
	bot *Bot
}

// Timeout implements river.Worker.
func (w *digestWorker) Timeout(*river.Job[digestArgs]) time.Duration { return patience }

// NextRetry implements river.Worker.
func (w *digestWorker) NextRetry(job *river.Job[digestArgs]) time.Time { return retryAt(job.Attempt) }

// Work sends the digest once; afterwards it edits it. Only a crash between the
// platform's answer and the commit sends it a second time.
func (w *digestWorker) Work(ctx context.Context, job *river.Job[digestArgs]) error {
	b, id := w.bot, job.Args.DigestID
	if err := b.closeDigest(ctx, id); err != nil {
		return err
	}
	return again(job, b.turns.alone(ctx, "digest "+id, func() error {
		g, ok, err := approvals.ReadDigest(ctx, b.Pool, id)
		switch {
		case err != nil || !ok:
			return err
		case g.State == digestClosed:
			return b.sendDigest(ctx, g, job.Attempt >= digestTries)
		case g.State == digestSent:
			return b.showDigest(ctx, g)
		}
		return nil
	}))
}

// closeDigest ends the gathering: what comes now waits for the next digest.
func (b *Bot) closeDigest(ctx context.Context, id string) error {
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		var a identity.Address
		err := tx.QueryRow(ctx, `
			UPDATE card_digests
			SET state = 'closed'
			WHERE id = $1
			  AND state = 'collecting'
			RETURNING channel, identity`, id).Scan(&a.Channel, &a.Identity)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("close digest: %w", err)
		}
		_, err = b.openWindow(ctx, tx, a, true)
		return err
	})
}

// sendDigest sends what still is wanted of g. A single card goes by itself, and
// so do all when the platform does not take the digest at the last try: a digest
// never stands between a request and its card.
func (b *Bot) sendDigest(ctx context.Context, g approvals.Digest, last bool) error {
	if err := b.dropUnwanted(ctx, &g); err != nil {
		return err
	}
	if len(g.Listed) < 2 {
		return b.dissolve(ctx, g)
	}
	ch, err := b.channel(ctx, g.Channel, g.Listed[0].AgentID)
	if err != nil {
		return err
	}
	if ch == nil {
		return b.dissolve(ctx, g)
	}
	card, hash, err := b.renderDigest(ctx, ch, g)
	if err != nil {
		return err
	}
	if card.Silent, err = b.allSilent(ctx, g); err != nil {
		return err
	}
	ref, err := ch.Send(ctx, Recipient{Identity: g.Identity}, card)
	ctx = context.WithoutCancel(ctx) // a shutdown must not lose what became of it
	var limited *RetryError
	switch {
	case err == nil:
		return b.sentDigest(ctx, g, ref, hash)
	case errors.Is(err, ErrUnreachable):
		return b.unreachedDigest(ctx, g, err)
	case errors.As(err, &limited):
		return err
	case last:
		b.Log.Warn("a list of requests could not be sent; sending each", "channel", g.Channel, "error", err)
		return b.dissolve(ctx, g)
	}
	_, noted := b.Pool.Exec(ctx, `
		UPDATE card_deliveries
		SET attempts = attempts + 1,
		    last_error = $2
		WHERE digest_id = $1`, g.ID, err.Error())
	return errors.Join(fmt.Errorf("send digest: %w", err), noted)
}

// dropUnwanted takes out what was decided before anybody saw it, and what its
// recipient may not decide any more.
func (b *Bot) dropUnwanted(ctx context.Context, g *approvals.Digest) error {
	var kept []approvals.Listed
	for _, l := range g.Listed {
		wanted, err := b.isWanted(ctx, delivery{Channel: g.Channel, Identity: g.Identity}, l.Request)
		if err != nil {
			return err
		}
		if wanted {
			kept = append(kept, l)
			continue
		}
		_, err = b.Pool.Exec(ctx, `
			UPDATE card_deliveries
			SET state = CASE WHEN message = '' THEN 'skipped' ELSE state END, -- a tap may have shown its own card
			    digest_id = NULL,
			    digest_place = NULL
			WHERE id = $1`, l.DeliveryID)
		if err != nil {
			return fmt.Errorf("drop card: %w", err)
		}
	}
	g.Listed = kept
	return nil
}

// allSilent tells whether every card of g would come silently.
func (b *Bot) allSilent(ctx context.Context, g approvals.Digest) (bool, error) {
	for _, l := range g.Listed {
		silent, err := b.silent(ctx, delivery{Channel: g.Channel, Identity: g.Identity}, l.Request)
		if err != nil || !silent {
			return false, err
		}
	}
	return true, nil
}

// sentDigest notes where g is and what it shows, unless a tap on it has told
// that already. What has moved on meanwhile is shown by another job.
func (b *Bot) sentDigest(ctx context.Context, g approvals.Digest, ref MessageRef, hash string) error {
	var wakes []func()
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		for _, l := range g.Listed { // in the order of their ids, so that none waits for another
			wake, err := b.Approvals.Delivered(ctx, tx, l.ID)
			if err != nil {
				return err
			}
			wakes = append(wakes, wake)
		}
		tag, err := tx.Exec(ctx, `
			UPDATE card_digests
			SET state = 'sent',
			    chat = $2,
			    message = $3,
			    shown_hash = $4
			WHERE id = $1
			  AND state = 'closed'`, g.ID, ref.Chat, ref.Message, hash)
		if err != nil {
			return fmt.Errorf("note sent digest: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, `
			UPDATE card_deliveries
			SET state = 'sent',
			    attempts = attempts + 1,
			    last_error = '',
			    sent_at = now()
			WHERE digest_id = $1`, g.ID)
		if err != nil {
			return fmt.Errorf("note sent digest: %w", err)
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM closed_routes
			WHERE channel = $1
			  AND identity = $2`, g.Channel, g.Identity)
		if err != nil {
			return fmt.Errorf("note open route: %w", err)
		}
		if err := b.digestShows(ctx, tx, g, ""); err != nil {
			return err
		}
		return b.queue(ctx, tx, digestArgs{DigestID: g.ID})
	})
	if err != nil {
		return err
	}
	for _, wake := range wakes {
		wake()
	}
	return nil
}

// unreachedDigest gives its cards back: they come again when their recipient can
// be reached. A card of its own that somebody has tapped meanwhile is there, and
// so is the digest itself, when it was that.
func (b *Bot) unreachedDigest(ctx context.Context, g approvals.Digest, why error) error {
	a := identity.Address{Channel: g.Channel, Identity: g.Identity}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if ended, err := endDigest(ctx, tx, g); err != nil || !ended {
			return err
		}
		if err := b.closeRoute(ctx, tx, a, why.Error()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE card_deliveries
			SET state = CASE WHEN message = '' THEN 'unreachable' ELSE state END,
			    attempts = attempts + 1,
			    last_error = CASE WHEN message = '' THEN $2 ELSE last_error END,
			    digest_id = NULL,
			    digest_place = NULL
			WHERE digest_id = $1`, g.ID, why.Error())
		if err != nil {
			return fmt.Errorf("note undelivered cards: %w", err)
		}
		return b.touchHomes(ctx, tx, a)
	})
}

// endDigest dissolves a digest, unless it has moved since g was read: a tap may
// have shown meanwhile that it has arrived.
func endDigest(ctx context.Context, tx pgx.Tx, g approvals.Digest) (bool, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE card_digests
		SET state = 'dissolved'
		WHERE id = $1
		  AND state = $2
		  AND message = $3`, g.ID, g.State, g.Message)
	if err != nil {
		return false, fmt.Errorf("end digest: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// dissolve ends a digest and queues the cards of what is open and has none.
func (b *Bot) dissolve(ctx context.Context, g approvals.Digest) error {
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if ended, err := endDigest(ctx, tx, g); err != nil || !ended {
			return err
		}
		if err := b.digestShows(ctx, tx, g, "the list is gone"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE card_deliveries d
			SET state = 'queued',
			    shown_version = 0
			FROM approval_requests r
			WHERE d.digest_id = $1
			  AND d.message = ''
			  AND d.state IN ('queued', 'sent')
			  AND r.id = d.request_id
			  AND r.status = 'pending'
			RETURNING d.id`, g.ID)
		if err != nil {
			return fmt.Errorf("dissolve digest: %w", err)
		}
		jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.JobArgs, error) {
			var args approvals.DeliverArgs
			err := row.Scan(&args.DeliveryID)
			return args, err
		})
		if err != nil {
			return fmt.Errorf("dissolve digest: %w", err)
		}
		return b.queue(ctx, tx, jobs...)
	})
}

// refreshDigest brings a digest that was sent to what holds now.
func (b *Bot) refreshDigest(ctx context.Context, id string) error {
	return b.turns.alone(ctx, "digest "+id, func() error {
		g, ok, err := approvals.ReadDigest(ctx, b.Pool, id)
		if err != nil || !ok || g.State != digestSent {
			return err
		}
		return b.showDigest(ctx, g)
	})
}

// showDigest edits g when it shows something else. When the message is gone, the
// cards of what is open go out by themselves. It is called in g's turn.
func (b *Bot) showDigest(ctx context.Context, g approvals.Digest) error {
	if len(g.Listed) == 0 {
		return nil // deleted with its agents
	}
	ch, err := b.channel(ctx, g.Channel, g.Listed[0].AgentID)
	if err != nil || ch == nil {
		return err // repaired once the channel is back
	}
	card, hash, err := b.renderDigest(ctx, ch, g)
	if err != nil {
		return err
	}
	why := ""
	if hash != g.ShownHash {
		err := ch.Update(ctx, MessageRef{Chat: g.Chat, Message: g.Message}, card)
		ctx = context.WithoutCancel(ctx)
		switch {
		case errors.Is(err, ErrGone):
			return b.dissolve(ctx, g)
		case errors.Is(err, ErrUnreachable):
			why = err.Error()
		case err != nil:
			return fmt.Errorf("edit digest: %w", err)
		}
	}
	return db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE card_digests SET shown_hash = $2 WHERE id = $1`, g.ID, hash); err != nil {
			return fmt.Errorf("note edited digest: %w", err)
		}
		return b.digestShows(ctx, tx, g, why)
	})
}

// digestShows notes the states that a digest is at, for the requests that have
// no card of their own, and tells the pages of those concerned.
func (b *Bot) digestShows(ctx context.Context, tx pgx.Tx, g approvals.Digest, why string) error {
	ids, versions := make([]string, len(g.Listed)), make([]int, len(g.Listed))
	people := []identity.Address{{Channel: g.Channel, Identity: g.Identity}}
	asked := map[string]bool{}
	for i, l := range g.Listed {
		ids[i], versions[i] = l.DeliveryID, l.Version
		if asked[l.RequesterID] {
			continue
		}
		asked[l.RequesterID] = true
		addresses, err := identity.Addresses(ctx, tx, l.RequesterID)
		if err != nil {
			return err
		}
		people = append(people, addresses...)
	}
	_, err := tx.Exec(ctx, `
		UPDATE card_deliveries d
		SET shown_version = listed.version,
		    last_error = $3
		FROM unnest($1::text[], $2::int[]) AS listed (id, version)
		WHERE d.id = listed.id
		  AND d.message = ''
		  AND d.state = 'sent'`, ids, versions, why)
	if err != nil {
		return fmt.Errorf("note what a digest shows: %w", err)
	}
	return b.touchHomes(ctx, tx, people...)
}
