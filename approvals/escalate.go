package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/session"
)

// EscalateArgs asks the rule's further people about an open request.
type EscalateArgs struct {
	RequestID string `json:"requestId"`
}

// Kind names the job in River's table.
func (EscalateArgs) Kind() string { return "approval_escalate" }

// escalateAt is when the escalation of r is due.
func (r Request) escalateAt() time.Time {
	return r.CreatedAt.Add(time.Duration(r.Settings.EscalateAfterMinutes) * time.Minute)
}

// escalateJobs schedule the escalation of a new request.
func escalateJobs(r Request) []river.InsertManyParams {
	if r.Settings.EscalateAfterMinutes == 0 {
		return nil
	}
	return []river.InsertManyParams{{Args: EscalateArgs{RequestID: r.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: r.escalateAt()}}}
}

// Escalate lets the rule's further people decide an open request as well and
// sends them cards; those asked before stay asked. It happens once, not after the
// end, and not while the requester is asked in their own session.
func (s *Service) Escalate(ctx context.Context, id string) error {
	var r Request
	var escalated bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, escalated, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET escalated_at = clock_timestamp(),
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.escalated_at IS NULL
			  AND r.status = 'pending'
			  AND r.mode = 'async'
			  AND clock_timestamp() < r.expires_at
			RETURNING `+columns, id))
		if err != nil || !escalated {
			return err
		}
		jobs, err := updateJobs(ctx, tx, r)
		if err != nil {
			return err
		}
		more, err := cards(ctx, tx, r)
		if err != nil {
			return err
		}
		return s.pressed(ctx, tx, r, session.ApprovalEscalated, append(jobs, more...))
	})
	if err != nil {
		return fmt.Errorf("escalate: %w", err)
	}
	if escalated {
		s.published(r)
	}
	return nil
}

// EscalateWorker works EscalateArgs.
type EscalateWorker struct {
	river.WorkerDefaults[EscalateArgs]
	Service *Service
}

// Work escalates once, however often it runs. What it does not do in time, or is
// called for too early, by the database's clock, Reconcile does.
func (w *EscalateWorker) Work(ctx context.Context, job *river.Job[EscalateArgs]) error {
	r, err := Lookup(ctx, w.Service.Pool, job.Args.RequestID)
	if known, ok := fault.As(err); ok && known.Kind == fault.NotFound {
		return nil
	}
	if err != nil || r.ReadAt.Before(r.escalateAt()) {
		return err
	}
	return w.Service.Escalate(ctx, r.ID)
}

// escalateOverdue covers jobs that were lost, late or too early.
func (s *Service) escalateOverdue(ctx context.Context) error {
	ids, err := s.ids(ctx, `
		SELECT id
		FROM approval_requests
		WHERE status = 'pending'
		  AND mode = 'async'
		  AND duplicate_of IS NULL
		  AND escalated_at IS NULL
		  AND clock_timestamp() < expires_at
		  AND clock_timestamp() >= created_at + NULLIF((settings ->> 'escalateAfterMinutes')::integer, 0) * interval '1 minute'
		LIMIT 1000`)
	if err != nil {
		return fmt.Errorf("find overdue escalations: %w", err)
	}
	var failed error
	for _, id := range ids {
		failed = errors.Join(failed, s.Escalate(ctx, id))
	}
	return failed
}
