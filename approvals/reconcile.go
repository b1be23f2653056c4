package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/internal/db"
)

// ReconcileEvery is how often Reconcile runs besides each start.
const ReconcileEvery = 5 * time.Second

// ReconcileWorker works ReconcileArgs.
type ReconcileWorker struct {
	river.WorkerDefaults[ReconcileArgs]
	Service *Service
}

// Work repairs what it finds; all repairs are tried even when one fails.
func (w *ReconcileWorker) Work(ctx context.Context, _ *river.Job[ReconcileArgs]) error {
	s := w.Service
	return errors.Join(s.expireOverdue(ctx), s.endOverdueHolds(ctx), s.endOrphanedClaims(ctx), s.updateStaleCards(ctx), s.repairReach(ctx))
}

// expireOverdue covers expiry jobs that were lost or late.
func (s *Service) expireOverdue(ctx context.Context) error {
	ids, err := s.ids(ctx, `
		SELECT id
		FROM approval_requests
		WHERE status = 'pending'
		  AND duplicate_of IS NULL
		  AND expires_at <= clock_timestamp()
		LIMIT 1000`)
	if err != nil {
		return fmt.Errorf("find overdue requests: %w", err)
	}
	var failed error
	for _, id := range ids {
		_, err := s.Expire(ctx, id)
		failed = errors.Join(failed, err)
	}
	return failed
}

// updateStaleCards queues edits for cards that show an older state than their
// request has, and have no job left that would do it.
func (s *Service) updateStaleCards(ctx context.Context) error {
	return db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT d.id, r.version
			FROM card_deliveries d
			JOIN approval_requests r ON r.id = d.request_id
			WHERE d.state = 'sent'
			  AND d.shown_version < r.version
			  AND COALESCE(r.finished_at, r.claimed_at, r.resolved_at, GREATEST(r.escalated_at,
			      (SELECT max(at) FROM approval_votes v WHERE v.request_id = r.id))) < clock_timestamp() - interval '10 seconds'
			  AND r.created_at > clock_timestamp() - interval '2 days'
			LIMIT 1000`)
		if err != nil {
			return fmt.Errorf("find stale cards: %w", err)
		}
		var args UpdateCardArgs
		var jobs []river.InsertManyParams
		_, err = pgx.ForEachRow(rows, []any{&args.DeliveryID, &args.Version}, func() error {
			job := cardJob(args)
			job.InsertOpts.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: unfinished}
			jobs = append(jobs, job)
			return nil
		})
		if err != nil {
			return fmt.Errorf("find stale cards: %w", err)
		}
		return s.insert(ctx, tx, jobs)
	})
}

// unfinished are the states of a job that will still run.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

func (s *Service) ids(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := s.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
