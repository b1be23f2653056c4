package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// Cancellation takes a request back before anybody has answered it.
type Cancellation struct {
	AgentID   string
	RequestID string
	// Reason reaches the requester; at most 1000 characters.
	Reason string
	// Actor is the operator, an owner of the agent, or the requester: a user, or
	// the agent itself by the id that it asks with.
	Actor Actor

	// parted is Holm's own, of a duplicate whose question is somebody else's.
	parted bool
	// superseded is Holm's own, of a question whose call was asked anew.
	superseded bool
}

// holm is who ends what no person has ended.
var holm = Actor{UserID: "system", Name: "Holm", Via: "system"}

// Cancel moves a pending request to cancelled, once. One that has been answered
// is a Conflict that says who, when and what, one whose deadline has passed is
// Gone, both by the deciding statement. To somebody who is neither the operator
// nor an owner nor its requester a request looks unknown.
func (s *Service) Cancel(ctx context.Context, c Cancellation) (Request, error) {
	if len([]rune(c.Reason)) > maxReason {
		return Request{}, fault.Invalidf("the reason is longer than %d characters", maxReason)
	}
	var r Request
	var refused error
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, err = Get(ctx, tx, c.AgentID, c.RequestID)
		if err != nil {
			return err
		}
		may, err := mayCancel(ctx, tx, r, c.Actor)
		if err != nil {
			return err
		}
		if !may && !c.parted {
			return fault.NotFoundf("no approval request %q", c.RequestID)
		}
		if r.DuplicateOf != nil {
			// Answers lock the question first, and then its duplicates.
			if err := lock(ctx, tx, *r.DuplicateOf); err != nil {
				return err
			}
		}
		cancelled, ok, err := s.cancel(ctx, tx, r.ID, c)
		if err != nil {
			return err
		}
		if ok {
			r = cancelled
			return s.withdrawn(ctx, tx, r, c.Actor.ID())
		}
		r, refused, err = s.whyNot(ctx, tx, r, c.Actor)
		return err
	})
	if err != nil {
		return Request{}, err
	}
	s.published(r)
	return r, refused
}

// mayCancel lets the operator, the agent's owners and the requester pass.
func mayCancel(ctx context.Context, q db.Queryer, r Request, a Actor) (bool, error) {
	if a.Admin {
		return true, nil
	}
	if a.UserID == "" {
		return false, nil
	}
	mine, err := identity.Same(ctx, q, r.RequesterID, a.UserID)
	if err != nil || mine {
		return mine, err
	}
	role, err := identity.RoleOf(ctx, q, r.AgentID, a.UserID)
	if err != nil {
		return false, fmt.Errorf("read role of who cancels: %w", err)
	}
	return role == policy.Owner, nil
}

// withdrawn writes what follows from the end of r: a question ends with all that
// share it, a duplicate alone.
func (s *Service) withdrawn(ctx context.Context, tx pgx.Tx, r Request, actor string) error {
	if r.DuplicateOf == nil {
		return s.resolved(ctx, tx, &pgx.Batch{}, r, actor)
	}
	var b pgx.Batch
	if err := queueEnded(ctx, &b, r, actor); err != nil {
		return err
	}
	if err := db.Send(ctx, tx, &b); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if err := s.insert(ctx, tx, r.requesterJobs()); err != nil {
		return err
	}
	return s.recount(ctx, tx, *r.DuplicateOf, -1)
}

func (s *Service) cancel(ctx context.Context, tx pgx.Tx, id string, c Cancellation) (Request, bool, error) {
	r, ok, err := collect(tx.Query(ctx, `
		UPDATE approval_requests r
		SET status = 'cancelled',
		    resolved_by = $2,
		    resolved_name = $3,
		    resolved_via = $4,
		    reason = NULLIF($5, ''),
		    stopped = CASE WHEN $6 THEN $5 END,
		    resolved_at = clock_timestamp(),
		    version = r.version + 1
		WHERE r.id = $1
		  AND r.status = 'pending'
		  AND clock_timestamp() < r.expires_at
		RETURNING `+columns, id, c.Actor.ID(), c.Actor.Name, c.Actor.Via, c.Reason, c.superseded))
	if err != nil {
		return Request{}, false, fmt.Errorf("cancel: %w", err)
	}
	return r, ok, nil
}
