package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/policy"
)

// queueStale has the batch b find what somebody with this id asked about the call,
// or was approved for it, on another basis than now: open questions about this very
// call, and what approvals have left that could cover it.
func queueStale(b *pgx.Batch, c Call, requesterID, basis string, list *[]Request) {
	b.Queue(`
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.id IN (
		    SELECT id
		    FROM approval_requests
		    WHERE agent_id = $1
		      AND requester_id = $2
		      AND status = 'pending'
		      AND args_sha256 = $5
		    UNION ALL
		    SELECT request_id
		    FROM approval_grants
		    WHERE agent_id = $1
		      AND requester_id = $2
		      AND resource_key = $4
		      AND valid_until > clock_timestamp()
		      AND revoked_at IS NULL
		      AND (uses_left > 0 OR uses_left IS NULL)
		    UNION ALL
		    SELECT request_id
		    FROM approval_grants
		    WHERE agent_id = $1
		      AND requester_id = $2
		      AND resource_key = $4
		      AND valid_until IS NULL
		      AND revoked_at IS NULL
		  )
		  AND r.duplicate_of IS NULL
		  AND r.resource_type = $3
		  AND r.resource_key = $4
		  AND (r.args_sha256 = $5 OR r.extent = 'tool' OR r.resolution = 'once' AND r.settings ->> 'binding' = 'resource')
		  AND r.settings ->> 'basisDigest' <> $6
		  AND COALESCE((r.settings ->> 'outside')::boolean, false) = $7
		  AND (r.by_key <> '') = $8
		  AND (r.by_key = '' OR r.session_id = $9)
		ORDER BY r.args_sha256 = $5 DESC, r.id DESC
		LIMIT 10`,
		c.Session.AgentID, requesterID, c.ResourceType, c.ResourceKey, policy.ArgsDigest(c.Args), basis,
		c.Outside, c.ByKey != "", c.Session.ID).
		Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Request])
			*list = append(*list, found...)
			slices.SortFunc(*list, func(a, b Request) int { return -earlierCall{Request: a}.compare(earlierCall{Request: b}) })
			return err
		})
}

// same tells whether r, one of a situation's stale questions, is about the call
// with its very arguments.
func (c Call) same(r Request) bool { return r.ArgsSHA256 == policy.ArgsDigest(c.Args) }

// supersede ends the stale questions about the very call that is now asked anew as
// r, open or answered: nobody shall answer in vain, and no approval come back to
// life when a rule does. What holds for other arguments as well, or for good, stays.
func (s *Service) supersede(ctx context.Context, tx pgx.Tx, stale []Request, r Request) (ended []Request, err error) {
	for _, old := range stale {
		if old.ArgsSHA256 != r.ArgsSHA256 {
			continue
		}
		why := fmt.Sprintf("%s; asked anew as request %d", changes(old.Settings, r.Settings, true), r.ShortID)
		one, ok, err := s.end(ctx, tx, old, why)
		if err != nil {
			return nil, fmt.Errorf("supersede request %d: %w", old.ShortID, err)
		}
		if ok {
			ended = append(ended, one)
		}
	}
	return ended, nil
}

func (s *Service) end(ctx context.Context, tx pgx.Tx, old Request, why string) (r Request, ok bool, err error) {
	if old.Status == Pending {
		if r, ok, err = s.cancel(ctx, tx, old.ID, Cancellation{Reason: why, Actor: holm, superseded: true}); err != nil || !ok {
			return r, false, err
		}
		return r, true, s.withdrawn(ctx, tx, r, holm.ID())
	}
	r, ok, err = collect(tx.Query(ctx, `
		WITH ended AS (
		    UPDATE approval_grants
		    SET revoked_at = clock_timestamp(),
		        revoked_by = $2
		    WHERE request_id = $1
		      AND valid_until > clock_timestamp()
		      AND revoked_at IS NULL
		      AND (uses_left > 0 OR uses_left IS NULL)
		    RETURNING request_id
		)
		UPDATE approval_requests r
		SET stopped = $3,
		    version = r.version + 1
		FROM ended
		WHERE r.id = ended.request_id
		RETURNING `+columns, old.ID, holm.ID(), why))
	if err != nil || !ok {
		return r, false, err
	}
	return r, true, s.stopped(ctx, tx, r, "approval_superseded")
}

// stopped records that r lets no call through, and has its cards say so.
func (s *Service) stopped(ctx context.Context, tx pgx.Tx, r Request, kind string) error {
	var b pgx.Batch
	var jobs []river.InsertManyParams
	queueUpdates(&b, r, &jobs)
	if err := errors.Join(s.audit(ctx, tx, kind, holm.ID(), r), db.Send(ctx, tx, &b)); err != nil {
		return err
	}
	return s.insert(ctx, tx, jobs)
}

// HoldBack notes why an approved call did not run when it came for its approval,
// which stands all the same: a rule that denies may go again.
func (s *Service) HoldBack(ctx context.Context, requestID, why string) error {
	var r Request
	var ok bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, ok, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET stopped = $2,
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.status = 'approved'
			  AND r.claimed_at IS NULL
			  AND r.stopped IS NULL
			RETURNING `+columns, requestID, why))
		if err != nil || !ok {
			return err
		}
		return s.stopped(ctx, tx, r, "call_held_back")
	})
	if err != nil {
		return fmt.Errorf("hold back: %w", err)
	}
	if ok {
		s.published(r)
	}
	return nil
}
