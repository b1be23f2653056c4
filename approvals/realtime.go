package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/fault"
)

// The modes of a request.
const (
	// Async asks the owners, wherever they are.
	Async = "async"
	// Realtime asks the requester, an owner, in their own session first. Nobody
	// else is asked until that has ended: no cards are queued, and the owners'
	// streams do not tell of it. Whoever may decide still can, if they look.
	Realtime = "realtime"
)

// EndRealtimeArgs hands a request that nobody has answered in its own session
// over to the owners. It is queued with the request, so that a crash loses
// nothing.
type EndRealtimeArgs struct {
	RequestID string `json:"requestId"`
}

// Kind names the job in River's table.
func (EndRealtimeArgs) Kind() string { return "approval_end_realtime" }

// EndRealtime lets the owners be asked: it makes an open Realtime request Async
// and queues its cards. Any other it leaves, and gives it as it is.
func (s *Service) EndRealtime(ctx context.Context, id string) (Request, error) {
	var r Request
	var moved bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, moved, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET mode = 'async',
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.status = 'pending'
			  AND r.mode = 'realtime'
			RETURNING `+columns, id))
		if err != nil {
			return err
		}
		if !moved {
			r, err = Lookup(ctx, tx, id)
			return err
		}
		if err := s.audit(ctx, tx, "approval_handed_over", "system", r); err != nil {
			return err
		}
		jobs, err := cards(ctx, tx, r)
		if err == nil && len(jobs) == 0 {
			_, err = s.markUndelivered(ctx, tx, r.ID)
		}
		return errors.Join(err, s.insert(ctx, tx, jobs))
	})
	if err != nil {
		return Request{}, fmt.Errorf("hand over to the owners: %w", err)
	}
	if moved {
		s.published(r)
	}
	return r, nil
}

// EndRealtimeWorker works EndRealtimeArgs.
type EndRealtimeWorker struct {
	river.WorkerDefaults[EndRealtimeArgs]
	Service *Service
}

// Work hands the request over, or finds that it was answered or is gone with
// its agent.
func (w *EndRealtimeWorker) Work(ctx context.Context, job *river.Job[EndRealtimeArgs]) error {
	_, err := w.Service.EndRealtime(ctx, job.Args.RequestID)
	if known, ok := fault.As(err); ok && known.Kind == fault.NotFound {
		return nil
	}
	return err
}
