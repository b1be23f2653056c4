package identity

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/policy"
)

// Member is a person with a role; merged users are one.
type Member struct {
	UserID     string      `json:"userId"`
	Name       string      `json:"name"`
	Role       policy.Role `json:"role"`
	Identities []string    `json:"identities"`
}

// Members lists the people of an agent with their identities.
func Members(ctx context.Context, q db.Queryer, agentID string) ([]Member, error) {
	rows, err := q.Query(ctx, `
		SELECT live.id, live.name, (array_agg(m.role ORDER BY `+rank("m.role")+`))[1],
		       ARRAY(
		           SELECT i.channel || ':' || i.channel_user_id
		           FROM users every
		           JOIN user_identities i ON i.user_id = every.id
		           WHERE COALESCE(every.merged_into, every.id) = live.id
		           ORDER BY i.channel, i.channel_user_id
		       )
		FROM agent_members m
		JOIN users u ON u.id = m.user_id
		JOIN users live ON live.id = COALESCE(u.merged_into, u.id)
		WHERE m.agent_id = $1
		GROUP BY live.id, live.name
		ORDER BY live.name, live.id`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Member])
}

// SetRole changes the role of a member. A merged person's users are lowered to
// it where they had more; where none has it, the one who lives on gets it.
// Somebody who is no member is NotFound; taking the role from the last owner is
// a Conflict last_owner unless forced.
func SetRole(ctx context.Context, tx pgx.Tx, agentID, userID string, role policy.Role, force bool, actor string) error {
	before, err := lockMember(ctx, tx, agentID, userID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE agent_members m
		SET role = $3
		WHERE m.agent_id = $1
		  AND m.user_id IN (`+personOf("$2")+`)
		  AND `+rank("m.role")+` < `+rank("$3"), agentID, userID, role)
	if err != nil {
		return fmt.Errorf("lower role: %w", err)
	}
	now, err := RoleOf(ctx, tx, agentID, userID)
	if err != nil {
		return err
	}
	if now != role {
		live, err := GetUser(ctx, tx, userID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO agent_members (agent_id, user_id, role)
			VALUES ($1, $2, $3)
			ON CONFLICT (agent_id, user_id) DO UPDATE
			SET role = EXCLUDED.role`, agentID, live.ID, role)
		if err != nil {
			return fmt.Errorf("raise role: %w", err)
		}
	}
	return memberChanged(ctx, tx, agentID, force, actor, map[string]any{"userId": userID, "before": before, "role": role})
}

// Leave takes a person from an agent, and out of its circles. The keys that are
// bound to them end for good; their prefixes are given. The last owner leaves by
// force alone. What was approved for them, or by them, is package approvals' to end.
// Publish KeysChanged after the commit.
func Leave(ctx context.Context, tx pgx.Tx, agentID, userID string, force bool, actor string) (revoked []string, err error) {
	before, err := lockMember(ctx, tx, agentID, userID)
	if err != nil {
		return nil, err
	}
	for _, table := range []string{"circle_members", "agent_members"} {
		_, err := tx.Exec(ctx, `
			DELETE FROM `+table+`
			WHERE agent_id = $1
			  AND user_id IN (`+personOf("$2")+`)`, agentID, userID)
		if err != nil {
			return nil, fmt.Errorf("leave: %w", err)
		}
	}
	if revoked, err = revokeKeysOf(ctx, tx, agentID, userID, actor); err != nil {
		return nil, err
	}
	return revoked, memberChanged(ctx, tx, agentID, force, actor, map[string]any{"userId": userID, "before": before, "role": nil})
}

// lockMember makes changes of one agent's people take turns, so that two owners
// cannot both be the last but one, and gives the role that the member has.
func lockMember(ctx context.Context, tx pgx.Tx, agentID, userID string) (policy.Role, error) {
	if _, err := tx.Exec(ctx, `SELECT 1 FROM agents WHERE id = $1 FOR NO KEY UPDATE`, agentID); err != nil {
		return "", fmt.Errorf("lock agent: %w", err)
	}
	role, err := RoleOf(ctx, tx, agentID, userID)
	if err != nil {
		return "", fmt.Errorf("read role: %w", err)
	}
	if role == "" {
		return "", fault.NotFoundf("agent %q has no member %q", agentID, userID)
	}
	return role, nil
}

// memberChanged refuses to leave an agent without the owner it had, and writes
// the record.
func memberChanged(ctx context.Context, tx pgx.Tx, agentID string, force bool, actor string, data map[string]any) error {
	var owned bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT 1
		    FROM agent_members
		    WHERE agent_id = $1
		      AND role = 'owner'
		)`, agentID).Scan(&owned)
	if err != nil {
		return fmt.Errorf("look for owners: %w", err)
	}
	if !owned && !force && data["before"] == policy.Owner {
		return fault.New(fault.Conflict, "last_owner", "agent %q would have no owner left to decide; force it if that is meant", agentID)
	}
	return audit.Write(ctx, tx, audit.Record{Kind: "member_changed", AgentID: agentID, Actor: actor, Data: data})
}
