package bot

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"holm/internal/db"
)

// Of the events of one person on a channel only the first that has not ended has
// a job. Whoever ends it makes the job of the next one in the same transaction;
// whoever stores one makes its job when none is open. Both hold the person's lock
// then, so that neither overlooks what the other does.

// actorLock sets these locks apart from others.
const actorLock = 0x6163746f // "acto"

// lockActors is held until the end of the transaction. Arrival numbers are given
// under it: they are in the order of the commits. All take several locks in the
// same order.
const lockActors = `
	SELECT pg_advisory_xact_lock(k)
	FROM (
	    SELECT DISTINCT hashtextextended($1 || ' ' || actor, $3) AS k
	    FROM unnest($2::text[]) actor
	    WHERE actor IS NOT NULL
	    ORDER BY k
	) locks`

// arriving is what is known of events when they are stored.
type arriving struct {
	ids, payloads []string
	actors        []*string
	queues        map[string]string // by id
}

// arrive stores events and gives the ids of the new ones that nobody has to wait
// with.
func arrive(ctx context.Context, tx pgx.Tx, namespace string, a arriving) (begin []string, err error) {
	batch := &pgx.Batch{}
	batch.Queue(lockActors, namespace, a.actors, actorLock)
	batch.Queue(`
		WITH new AS (
		    INSERT INTO inbox (channel, event_id, payload, actor)
		    SELECT $1, e.id, e.payload::json, e.actor
		    FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY e (id, payload, actor, n)
		    ORDER BY e.n
		    ON CONFLICT (channel, event_id) DO NOTHING
		    RETURNING event_id, actor, arrival
		)
		SELECT event_id
		FROM new
		WHERE actor IS NULL
		   OR NOT EXISTS (SELECT FROM new earlier WHERE earlier.actor = new.actor AND earlier.arrival < new.arrival)
		  AND NOT EXISTS (SELECT FROM inbox open WHERE open.channel = $1 AND open.actor = new.actor AND NOT open.ended)`,
		namespace, a.ids, a.payloads, a.actors).
		Query(func(rows pgx.Rows) error {
			begin, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	err = db.Send(ctx, tx, batch)
	return begin, err
}

// endTurn notes that an event is done with, and lets its person's next one begin.
func (b *Bot) endTurn(ctx context.Context, event inboxArgs) error {
	err := db.InTx(ctx, b.Pool, func(tx pgx.Tx) error {
		next, ok, err := end(ctx, tx, event)
		if err != nil || !ok {
			return err
		}
		_, queue := b.about(event.Channel, next.Payload)
		return b.queueEvents(ctx, tx, eventJob(inboxArgs{event.Channel, next.ID}, queue))
	})
	if err != nil {
		return fmt.Errorf("end event: %w", err)
	}
	return nil
}

// end gives the next event; ok is false when there is none, or when the event was
// ended before.
func end(ctx context.Context, tx pgx.Tx, event inboxArgs) (next Incoming, ok bool, err error) {
	var ended, found bool
	batch := &pgx.Batch{}
	batch.Queue(`
		SELECT pg_advisory_xact_lock(hashtextextended(channel || ' ' || actor, $3))
		FROM inbox
		WHERE channel = $1
		  AND event_id = $2
		  AND actor IS NOT NULL`, event.Channel, event.EventID, actorLock)
	batch.Queue(`
		UPDATE inbox
		SET ended = true,
		    handled_at = COALESCE(handled_at, now())
		WHERE channel = $1
		  AND event_id = $2
		  AND NOT ended`, event.Channel, event.EventID).
		Exec(func(tag pgconn.CommandTag) error {
			ended = tag.RowsAffected() == 1
			return nil
		})
	batch.Queue(`
		SELECT next.event_id, next.payload
		FROM inbox this
		JOIN inbox next ON next.channel = this.channel AND next.actor = this.actor AND NOT next.ended
		WHERE this.channel = $1
		  AND this.event_id = $2
		ORDER BY next.arrival
		LIMIT 1`, event.Channel, event.EventID).
		Query(func(rows pgx.Rows) error {
			if found = rows.Next(); found {
				return rows.Scan(&next.ID, &next.Payload)
			}
			return nil
		})
	err = db.Send(ctx, tx, batch)
	return next, ended && found, err
}

func eventJob(event inboxArgs, queue string) river.InsertManyParams {
	return river.InsertManyParams{Args: event, InsertOpts: &river.InsertOpts{Queue: queue, MaxAttempts: maxAttempts}}
}

func (b *Bot) queueEvents(ctx context.Context, tx pgx.Tx, jobs ...river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := b.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("queue events: %w", err)
	}
	return nil
}
