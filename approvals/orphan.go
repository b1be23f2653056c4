package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/crashpoint"
	"holm/internal/db"
)

// Current gives a request as it is now: a question whose deadline has passed is
// ended on the way, and so is a call whose process has died. For a duplicate that
// was approved its question is given, which is what runs.
func (s *Service) Current(ctx context.Context, id string) (Request, error) {
	r, err := Lookup(ctx, s.Pool, id)
	switch {
	case err != nil:
		return Request{}, err
	case r.Overdue():
		return s.Expire(ctx, id)
	case r.Status == Approved && r.DuplicateOf != nil:
		return s.Current(ctx, *r.DuplicateOf)
	case r.Executing():
		return s.endIfOrphaned(ctx, id)
	}
	return r, nil
}

// endOrphanedClaims gives calls of processes that died the outcome Unknown.
func (s *Service) endOrphanedClaims(ctx context.Context) error {
	ids, err := s.ids(ctx, `
		SELECT id
		FROM approval_requests
		WHERE claimed_at IS NOT NULL
		  AND finished_at IS NULL
		  AND (claimed_by <> $1 OR claimed_at < clock_timestamp() - $2::interval)
		LIMIT 1000`, outsider, ReportPatience)
	if err != nil {
		return fmt.Errorf("find running calls: %w", err)
	}
	var failed error
	for _, id := range ids {
		if _, err := s.endIfOrphaned(ctx, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("end orphaned call: %w", err))
		}
	}
	return failed
}

// lost tells whether nobody is there any more who would tell the end of r's
// call.
func (s *Service) lost(ctx context.Context, tx pgx.Tx, r Request) (bool, error) {
	if r.Outside() {
		return r.ReadAt.Sub(*r.ClaimedAt) > ReportPatience, nil
	}
	return s.deaths.Dead(ctx, tx, *r.ClaimedBy)
}

// endIfOrphaned gives the request as it is after the look.
func (s *Service) endIfOrphaned(ctx context.Context, id string) (r Request, err error) {
	moved := false
	err = db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if r, err = Lookup(ctx, tx, id); err != nil || !r.Executing() || *r.ClaimedBy == s.Hub.Process() {
			return err
		}
		lost, err := s.lost(ctx, tx, r)
		if err != nil || !lost {
			return err
		}
		ended, ok, err := collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET finished_at = clock_timestamp(),
			    outcome = 'outcome_unknown',
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.claimed_by = $2
			  AND r.finished_at IS NULL
			RETURNING `+columns, id, *r.ClaimedBy))
		if err != nil || !ok {
			return err
		}
		r, moved = ended, true
		err = s.executed(ctx, tx, r, "")
		crashpoint.Reach(crashpoint.EndingLostCall)
		return err
	})
	if err != nil {
		return Request{}, err
	}
	if moved {
		crashpoint.Reach(crashpoint.EndedLostCall)
		s.published(r)
	}
	return r, nil
}
