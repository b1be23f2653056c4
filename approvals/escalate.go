package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/session"
)

// EscalateArgs asks the rule's further people about an open request.
type EscalateArgs struct {
	RequestID string `json:"requestId"`
}

// Kind names the job in River's table.
func (EscalateArgs) Kind() string { return "approval_escalate" }

// escalateJobs schedule the escalation of a new request.
func escalateJobs(r Request) []river.InsertManyParams {
	if r.Settings.EscalateAfterMinutes == 0 {
		return nil
	}
	at := r.CreatedAt.Add(time.Duration(r.Settings.EscalateAfterMinutes) * time.Minute)
	return []river.InsertManyParams{{Args: EscalateArgs{RequestID: r.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: at}}}
}

// Escalate lets the rule's further people decide an open request as well and
// sends them cards; those asked before stay asked. It happens once, and not
// after the end.
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

// Work escalates once, however often it runs.
func (w *EscalateWorker) Work(ctx context.Context, job *river.Job[EscalateArgs]) error {
	return w.Service.Escalate(ctx, job.Args.RequestID)
}
