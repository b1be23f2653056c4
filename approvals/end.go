package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/policy"
	"holm/policy/rulestore"
)

// alwaysStands is the condition that every row of policy that the request r opened
// still speaks for its requester: whoever removes one, in whatever way, ends all
// that the approval left. It holds for approvals that opened none.
const alwaysStands = `(
	r.resolution IS DISTINCT FROM 'persistent'
	OR NOT EXISTS (
	    SELECT
	    FROM approval_grants opened
	    WHERE opened.request_id = r.id
	      AND opened.policy_id IS NOT NULL
	      AND NOT EXISTS (
	          SELECT
	          FROM agent_policies p
	          WHERE p.id = opened.policy_id
	            AND p.grants @> jsonb_build_array(jsonb_build_object('type', 'user', 'value', opened.requester_id))
	      )
	))`

// DeleteRows is rulestore.Delete together with the end of the approvals that had
// left one of the rows: their other rows, and the call that still waits for one of
// them. Every surface on which people delete rows deletes by it. Call Store.Changed
// after the commit.
func (s *Service) DeleteRows(ctx context.Context, tx pgx.Tx, agentID, resourceType, resourceKey string, effect policy.Effect, a Actor) ([]rulestore.Row, error) {
	ids, err := collectRequests(tx.Query(ctx, `
		SELECT DISTINCT g.request_id
		FROM approval_grants g
		JOIN agent_policies p ON p.id = g.policy_id
		WHERE p.agent_id = $1
		  AND p.resource_type = $2
		  AND p.resource_key = $3
		  AND ($4 = '' OR p.effect = $4)
		  AND g.revoked_at IS NULL`, agentID, resourceType, resourceKey, string(effect)))
	if err != nil {
		return nil, err
	}
	live, err := lockGrants(ctx, tx, agentID, ids)
	if err != nil {
		return nil, err
	}
	removed, err := rulestore.Delete(ctx, tx, agentID, resourceType, resourceKey, effect, a.ID())
	if err != nil {
		return nil, err
	}
	return removed, s.takeBackAll(ctx, tx, live, a)
}

func collectRequests(rows pgx.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, fmt.Errorf("find approvals: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find approvals: %w", err)
	}
	return ids, nil
}

// lockGrants locks what requests have left before it looks at it, so that of a
// claim and an end that race one sees the other's. It gives what lives.
func lockGrants(ctx context.Context, tx pgx.Tx, agentID string, requestIDs []string) ([]Grant, error) {
	if len(requestIDs) == 0 {
		return nil, nil
	}
	if _, err := tx.Exec(ctx, `SELECT FROM approval_grants WHERE request_id = ANY($1) ORDER BY id FOR UPDATE`, requestIDs); err != nil {
		return nil, fmt.Errorf("lock grants: %w", err)
	}
	return grantsOf(ctx, tx, agentID, requestIDs)
}

// takeBackAll is takeBack for several, which lockGrants has locked.
func (s *Service) takeBackAll(ctx context.Context, tx pgx.Tx, live []Grant, a Actor) error {
	for _, g := range live {
		if _, err := s.takeBack(ctx, tx, g, a); err != nil {
			return err
		}
	}
	return nil
}

// takeBack ends all that the request of a grant has left, which the caller has
// locked: the cards say so afterwards. changed tells whether a row of policy lost
// the requester by it.
func (s *Service) takeBack(ctx context.Context, tx pgx.Tx, g Grant, a Actor) (changed bool, err error) {
	r, err := Get(ctx, tx, g.AgentID, g.ID)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `
		UPDATE approval_grants
		SET revoked_at = clock_timestamp(),
		    revoked_by = $2
		WHERE request_id = $1
		  AND revoked_at IS NULL`, r.ID, a.ID())
	if err != nil {
		return false, fmt.Errorf("revoke: %w", err)
	}
	edits, err := updateJobs(ctx, tx, r)
	if err != nil {
		return false, err
	}
	if err := s.insert(ctx, tx, edits); err != nil {
		return false, err
	}
	for _, id := range g.PolicyIDs {
		withdrawn, err := rulestore.Withdraw(ctx, tx, r.AgentID, id, policy.ToUser(r.RequesterID), a.ID())
		if err != nil {
			return false, err
		}
		changed = changed || withdrawn
	}
	db.AfterCommit(tx, func() { s.Hub.Publish(Key(r.ID), audit.QueuedKey) })
	return changed, audit.Write(ctx, tx, audit.Record{Kind: "grant_revoked", AgentID: r.AgentID, Actor: a.ID(), Data: map[string]any{
		"requestId": r.ID, "shortId": r.ShortID, "requesterId": r.RequesterID, "resourceType": r.ResourceType,
		"resourceKey": r.Resource(), "resolution": r.Resolution, "uses": g.Uses, "policyIds": g.PolicyIDs, "via": a.Via,
	}})
}
