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
	AgentID string      `json:"agentId"`
	Role    policy.Role `json:"role"`
}

// rank orders roles in a query, the highest first.
func rank(column string) string {
	return `array_position(ARRAY['owner', 'user', 'guest'], ` + column + `)`
}

// RolesOf lists a user's roles by agent, one for each agent: the highest, when
// merged users had several.
func RolesOf(ctx context.Context, q db.Queryer, userID string) ([]AgentRole, error) {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT ON (m.agent_id) m.agent_id, m.role
		FROM agent_members m
		WHERE m.user_id IN (`+personOf("$1")+`)
		ORDER BY m.agent_id, `+rank("m.role"), userID)
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[AgentRole])
}
