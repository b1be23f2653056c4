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
	return errors.Join(s.expireOverdue(ctx), s.partDuplicates(ctx), s.endOverdueHolds(ctx), s.escalateOverdue(ctx), s.remindOverdue(ctx), s.endOrphanedClaims(ctx), s.sendLostCards(ctx), s.updateStaleCards(ctx), s.repairReach(ctx))
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

// sendLostCards queues the sending of cards that no job is left to send.
func (s *Service) sendLostCards(ctx context.Context) error {
	return s.repairCards(ctx, `
		WHERE d.state = 'queued'
		  AND r.status = 'pending'
		  AND r.expires_at > clock_timestamp()`,
		func(deliveryID string, _ int) river.JobArgs { return DeliverArgs{DeliveryID: deliveryID} })
}

// updateStaleCards queues edits for cards that show an older state than their
// request has, and have no job left that would do it.
func (s *Service) updateStaleCards(ctx context.Context) error {
	return s.repairCards(ctx, `
		WHERE d.state = 'sent'
		  AND d.shown_version < r.version
		  AND r.id > $3`,
		func(deliveryID string, version int) river.JobArgs {
			return UpdateCardArgs{DeliveryID: deliveryID, Version: version}
		}, idAt(time.Now().Add(-staleFor)))
}

// staleFor is how old a request may be whose cards are still looked at.
const staleFor = 48 * time.Hour

// idAt is less than the id of any request made later than t. Ids are UUIDv7: the
// primary key has them in the order of time, and finds the last ones among any
// number.
func idAt(t time.Time) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

// repairCards queues jobs for the cards that where names, with args from $3 on, and
// that no unfinished job of that kind is about. It reads River's table, because
// River has no call that finds jobs by their arguments. The statement is planned
// anew each time: what is good for a small table is not for a large one.
func (s *Service) repairCards(ctx context.Context, where string, job func(deliveryID string, version int) river.JobArgs, args ...any) error {
	args = append([]any{pgx.QueryExecModeCacheDescribe, job("", 0).Kind(), unfinished}, args...)
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT d.id, r.version
			FROM card_deliveries d
			JOIN approval_requests r ON r.id = d.request_id`+where+`
			  AND NOT EXISTS (
			      SELECT 1
			      FROM river.river_job j
			      WHERE j.kind = $1
			        AND j.args @> jsonb_build_object('deliveryId', d.id)
			        AND j.state = ANY ($2::text[]::river.river_job_state[])
			  )
			LIMIT 1000`, args...)
		if err != nil {
			return err
		}
		var id string
		var version int
		var jobs []river.InsertManyParams
		_, err = pgx.ForEachRow(rows, []any{&id, &version}, func() error {
			one := cardJob(job(id, version))
			one.InsertOpts.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: unfinished} // two processes may look at once
			jobs = append(jobs, one)
			return nil
		})
		return errors.Join(err, s.insert(ctx, tx, jobs))
	})
	if err != nil {
		return fmt.Errorf("repair cards: %w", err)
	}
	return nil
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
