package identity

import (
	"context"
	"fmt"

	"holm/internal/db"
	"holm/policy"
)

// PrincipalOf is who a caller is to policy: a bare key is the agent itself, a
// bound key its user, after merges, with the role and circles the person has now.
func PrincipalOf(ctx context.Context, q db.Queryer, c Caller) (policy.Principal, error) {
	p := policy.Principal{AgentID: c.AgentID}
	if c.UserID == "" {
		return p, nil
	}
	err := q.QueryRow(ctx, `
		WITH person AS (`+personOf("$2")+`)
		SELECT COALESCE((SELECT merged_into FROM users WHERE id = $2), $2),
		       COALESCE((
		           SELECT m.role
		           FROM agent_members m
		           WHERE m.agent_id = $1
		             AND m.user_id IN (SELECT id FROM person)
		           ORDER BY `+rank("m.role")+`
		           LIMIT 1
		       ), ''),
		       ARRAY(
		           SELECT DISTINCT c.circle
		           FROM circle_members c
		           WHERE c.agent_id = $1
		             AND c.user_id IN (SELECT id FROM person)
		           ORDER BY c.circle
		       )`, c.AgentID, c.UserID).Scan(&p.UserID, &p.Role, &p.Circles)
	if err != nil {
		return p, fmt.Errorf("read principal: %w", err)
	}
	return p, nil
}

// Principals are all who can call as an agent or for it: its bare key, and each
// member.
func Principals(ctx context.Context, q db.Queryer, agentID string) ([]policy.Principal, error) {
	members, err := Members(ctx, q, agentID)
	if err != nil {
		return nil, err
	}
	all := []policy.Principal{{AgentID: agentID}}
	for _, m := range members {
		p, err := PrincipalOf(ctx, q, Caller{AgentID: agentID, UserID: m.UserID})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
