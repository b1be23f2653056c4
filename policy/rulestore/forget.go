package rulestore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/policy"
)

// Forget takes what rows of an agent allow to somebody who is not there any more, or
// to a circle that is not: each of the grants, out of every allow row. Rows that
// deny or ask keep them. It gives the rows as they are then. A row that spoke for
// nobody else stays and allows nobody: without it the agent's default might let
// everybody in. Call Store.Changed after the commit.
func Forget(ctx context.Context, tx pgx.Tx, agentID string, grants []policy.Grant, actor string) ([]Row, error) {
	before, err := granting(ctx, tx, agentID, grants)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	ids := make([]string, len(before))
	for i, row := range before {
		ids[i] = row.ID
	}
	gone, err := json.Marshal(grants)
	if err != nil {
		return nil, fmt.Errorf("encode grants: %w", err)
	}
	rows, err := tx.Query(ctx, `
		UPDATE agent_policies
		SET grants = COALESCE((SELECT jsonb_agg(g) FROM jsonb_array_elements(grants) g WHERE NOT $2::jsonb @> jsonb_build_array(g)), '[]'),
		    version = version + 1
		WHERE id = ANY($1)
		RETURNING `+columns, ids, gone)
	if err != nil {
		return nil, fmt.Errorf("forget grants: %w", err)
	}
	after, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
	if err != nil {
		return nil, fmt.Errorf("forget grants: %w", err)
	}
	return after, changed(ctx, tx, agentID, "policy_set", actor, before, after)
}

// granting lists and locks the allow rows of an agent that speak for one of the
// grants.
func granting(ctx context.Context, q db.Queryer, agentID string, grants []policy.Grant) ([]Row, error) {
	wanted := make([]string, len(grants))
	for i, g := range grants {
		one, err := json.Marshal([]policy.Grant{g})
		if err != nil {
			return nil, fmt.Errorf("encode grants: %w", err)
		}
		wanted[i] = string(one)
	}
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM agent_policies
		WHERE agent_id = $1
		  AND effect = 'allow'
		  AND EXISTS (SELECT FROM unnest($2::text[]) wanted WHERE grants @> wanted::jsonb)
		ORDER BY id
		FOR UPDATE`, agentID, wanted)
	if err != nil {
		return nil, fmt.Errorf("find grants: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}

// Naming lists the rows of an agent that speak for a grant, whatever their effect.
func Naming(ctx context.Context, q db.Queryer, agentID string, grant policy.Grant) ([]Row, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM agent_policies
		WHERE agent_id = $1
		  AND grants @> $2
		ORDER BY resource_type, resource_key, effect, id`, agentID, []policy.Grant{grant})
	if err != nil {
		return nil, fmt.Errorf("list rows of a grant: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}
