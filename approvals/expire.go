package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/fault"
)

// Expire ends the request if its deadline has passed, and gives it as it is
// now. It may be called by anybody at any time: the database's clock decides.
func (s *Service) Expire(ctx context.Context, id string) (Request, error) {
	var r, ended Request
	var moved bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		ended, moved, err = s.expire(ctx, tx, id)
		if r = ended; err == nil && r.ID != id {
			r, err = Lookup(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return Request{}, err
	}
	if moved {
		crashpoint.Reach(crashpoint.Expired)
		s.published(ended)
	}
	return r, nil
}

// expire is the move from pending to expired with all that follows, for the
// question that a request belongs to: it gives that one.
func (s *Service) expire(ctx context.Context, tx pgx.Tx, id string) (Request, bool, error) {
	r, ok, err := collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET status = 'expired',
		    resolved_at = clock_timestamp(),
		    version = r.version + 1
		WHERE r.id = `+questionOf+`
		  AND r.status = 'pending'
		  AND r.expires_at <= clock_timestamp()
		RETURNING `+columns, id))
	if err != nil {
		return Request{}, false, fmt.Errorf("expire: %w", err)
	}
	if !ok {
		return Request{}, false, nil
	}
	err = s.resolved(ctx, tx, &pgx.Batch{}, r, "system")
	crashpoint.Reach(crashpoint.Expiring)
	return r, true, err
}

// ExpireWorker works ExpireArgs.
type ExpireWorker struct {
	river.WorkerDefaults[ExpireArgs]
	Service *Service
}

// Work expires the request, or finds that it has been decided or is gone with
// its agent.
func (w *ExpireWorker) Work(ctx context.Context, job *river.Job[ExpireArgs]) error {
	_, err := w.Service.Expire(ctx, job.Args.RequestID)
	if known, ok := fault.As(err); ok && known.Kind == fault.NotFound {
		return nil
	}
	return err
}
