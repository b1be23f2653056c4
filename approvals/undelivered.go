package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/session"
)

// deliverWithin is how long a card may take to reach somebody before the
// requester is told that it has reached nobody.
const deliverWithin = "60 seconds"

// reaches is the condition that a card of the question q has arrived, or still may
// in time. Where no card is on its way, somebody may be invited or look into the
// terminal: the minute is given as well, unless a way to somebody has failed and
// there is no other.
const reaches = `(q.created_at > clock_timestamp() - interval '` + deliverWithin + `' AND NOT EXISTS (
	SELECT 1
	FROM card_deliveries d
	WHERE d.request_id = q.id
	  AND d.state = 'unreachable')
	OR EXISTS (
	SELECT 1
	FROM card_deliveries d
	WHERE d.request_id = q.id
	  AND (d.state = 'sent'
	    OR d.state = 'queued' AND d.created_at > clock_timestamp() - interval '` + deliverWithin + `')))`

// Reached tells whether a question was put into a chat, or is on its way to one.
// One that is asked in its requester's own session first counts, too.
func Reached(ctx context.Context, q db.Queryer, r Request) (reached bool, err error) {
	err = q.QueryRow(ctx, `
		SELECT $2 = 'realtime' OR EXISTS (
		    SELECT 1
		    FROM card_deliveries
		    WHERE request_id = $1
		      AND state IN ('queued', 'sent')
		)`, r.Question(), r.Mode).Scan(&reached)
	if err != nil {
		return false, fmt.Errorf("look for cards: %w", err)
	}
	return reached, nil
}

// UndeliveredArgs looks whether a question has reached anybody.
type UndeliveredArgs struct {
	RequestID string `json:"requestId"`
}

// Kind names the job in River's table.
func (UndeliveredArgs) Kind() string { return "approval_undelivered" }

// UndeliveredWorker works UndeliveredArgs.
type UndeliveredWorker struct {
	river.WorkerDefaults[UndeliveredArgs]
	Service *Service
}

// Work marks the question, or finds that it has reached somebody or ended.
func (w *UndeliveredWorker) Work(ctx context.Context, job *river.Job[UndeliveredArgs]) error {
	return w.Service.MarkUndelivered(ctx, job.Args.RequestID)
}

// MarkUndelivered notes that an open question has reached nobody who may answer:
// when a minute has passed, or when the last way to somebody has failed. It stays
// open. The requester is told once. It may be called by anybody at any time.
func (s *Service) MarkUndelivered(ctx context.Context, id string) error {
	return s.reach(ctx, id, s.markUndelivered)
}

// reach runs one of the two moves and wakes those whom it concerns.
func (s *Service) reach(ctx context.Context, id string, move func(context.Context, pgx.Tx, string) ([]Request, error)) error {
	var moved []Request
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		moved, err = move(ctx, tx, id)
		return err
	})
	if err == nil && len(moved) > 0 {
		s.published(moved[0])
	}
	return err
}

func (s *Service) markUndelivered(ctx context.Context, tx pgx.Tx, id string) ([]Request, error) {
	// A card that arrives holds this lock, too; the look comes after it.
	if err := lock(ctx, tx, id); err != nil {
		return nil, err
	}
	return s.told(ctx, tx, session.ApprovalUndelivered, `
		UPDATE approval_requests r
		SET undelivered_at = clock_timestamp()
		FROM approval_requests q
		WHERE q.id = $1
		  AND r.id IN (SELECT id FROM approval_requests WHERE id = $1 OR duplicate_of = $1)
		  AND r.status = 'pending'
		  AND r.undelivered_at IS NULL
		  AND q.status = 'pending'
		  AND clock_timestamp() < q.expires_at
		  AND q.mode = 'async'
		  AND NOT `+reaches+`
		RETURNING `+columns, id)
}

// Delivered takes the mark back when a card has arrived; call it in the
// transaction that notes the card, before that. The function it gives wakes
// those whom it concerns, after the commit.
func (s *Service) Delivered(ctx context.Context, tx pgx.Tx, id string) (wake func(), err error) {
	if err := lock(ctx, tx, id); err != nil {
		return nil, err
	}
	moved, err := s.clearUndelivered(ctx, tx, id)
	return func() {
		if len(moved) > 0 {
			s.published(moved[0])
		}
	}, err
}

func (s *Service) clearUndelivered(ctx context.Context, tx pgx.Tx, id string) ([]Request, error) {
	return s.told(ctx, tx, session.ApprovalDelivered, `
		UPDATE approval_requests r
		SET undelivered_at = NULL
		WHERE (r.id = $1 OR r.duplicate_of = $1)
		  AND r.status = 'pending'
		  AND r.undelivered_at IS NOT NULL
		RETURNING `+columns, id)
}

// told runs a move of the mark and tells each session of it, and the requester;
// the question comes first in what it gives.
func (s *Service) told(ctx context.Context, tx pgx.Tx, event, move, id string) ([]Request, error) {
	rows, err := tx.Query(ctx, move, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", event, err)
	}
	moved, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Request])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", event, err)
	}
	var b pgx.Batch
	var jobs []river.InsertManyParams
	for i, r := range moved {
		if err := r.queueReach(&b, event); err != nil {
			return nil, err
		}
		if r.DuplicateOf != nil {
			continue
		}
		moved[0], moved[i] = moved[i], moved[0]
		if err := audit.Queue(ctx, &b, r.record(event, "system")); err != nil {
			return nil, err
		}
		jobs = append(jobs, cardJob(NotifyRequesterArgs{RequestID: r.ID, Version: r.Version, News: event}))
	}
	if err := db.Send(ctx, tx, &b); err != nil {
		return nil, fmt.Errorf("%s: %w", event, err)
	}
	return moved, s.insert(ctx, tx, jobs)
}

// queueReach has the batch b tell the session of r that its question reaches
// nobody, or somebody after all.
func (r Request) queueReach(b *pgx.Batch, event string) error {
	return session.QueueAppend(b, r.AgentID, r.SessionID, event, map[string]any{
		"requestId": r.ID, "shortId": r.ShortID, "resourceType": r.ResourceType, "resourceKey": r.Resource(),
	})
}

// repairReach covers jobs and looks that were lost.
func (s *Service) repairReach(ctx context.Context) error {
	const open = `
		SELECT q.id
		FROM approval_requests q
		WHERE q.status = 'pending'
		  AND q.duplicate_of IS NULL
		  AND `
	const sent = `EXISTS (SELECT 1 FROM card_deliveries d WHERE d.request_id = q.id AND d.state = 'sent')`
	var failed error
	for _, c := range []struct {
		where string
		move  func(context.Context, pgx.Tx, string) ([]Request, error)
	}{
		{`q.undelivered_at IS NULL AND q.mode = 'async' AND NOT ` + reaches, s.markUndelivered},
		{`q.undelivered_at IS NOT NULL AND ` + sent, s.clearUndelivered},
	} {
		ids, err := s.ids(ctx, open+c.where+` LIMIT 1000`)
		failed = errors.Join(failed, err)
		for _, id := range ids {
			failed = errors.Join(failed, s.reach(ctx, id, c.move))
		}
	}
	return failed
}
