package identity

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/policy"
)

// AgentRole is a user's role with one agent.
type AgentRole struct {
	AgentID string
	Role    policy.Role
}

// RolesOf lists a user's roles by agent, one for each agent: the highest, when
// merged users had several.
func RolesOf(ctx context.Context, q db.Queryer, userID string) ([]AgentRole, error) {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT ON (m.agent_id) m.agent_id, m.role
		FROM agent_members m
		JOIN users u ON u.id = m.user_id
		WHERE COALESCE(u.merged_into, u.id) = COALESCE((SELECT merged_into FROM users WHERE id = $1), $1)
		ORDER BY m.agent_id, array_position(ARRAY['owner', 'user', 'guest'], m.role)`, userID)
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[AgentRole])
}
