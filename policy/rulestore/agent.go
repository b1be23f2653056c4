package rulestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/policy"
)

// agent is what decides beside an agent's rows.
type agent struct {
	version    int64
	born       time.Time
	fallback   policy.Effect
	autonomy   string
	askedTools []string
	// merged are the users named in grants who live on as others.
	merged map[string]string
	// makers are the names of those who made rows that ask for approval.
	makers map[string]string
}

func readAgent(ctx context.Context, tx pgx.Tx, agentID string) (a agent, err error) {
	err = tx.QueryRow(ctx, `
		SELECT policy_version, created_at, default_decision, autonomy_level, require_approval_for
		FROM agents
		WHERE id = $1`, agentID).Scan(&a.version, &a.born, &a.fallback, &a.autonomy, &a.askedTools)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, fault.NotFoundf("no agent %q", agentID)
	}
	if err != nil {
		return a, fmt.Errorf("read agent: %w", err)
	}
	return a, nil
}

// readRows gives the agent's rows, and learns who is meant by the users in them.
func (a *agent) readRows(ctx context.Context, tx pgx.Tx, agentID string) ([]Row, error) {
	stored, err := List(ctx, tx, agentID, "")
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `
		SELECT u.id, u.merged_into
		FROM agent_policies p
		CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(p.grants) WHEN 'array' THEN p.grants ELSE '[]' END) g
		JOIN users u ON u.id = g ->> 'value'
		WHERE p.agent_id = $1
		  AND g ->> 'type' = 'user'
		  AND u.merged_into IS NOT NULL`, agentID)
	if err != nil {
		return nil, fmt.Errorf("read merged users: %w", err)
	}
	a.merged = map[string]string{}
	var id, live string
	if _, err := pgx.ForEachRow(rows, []any{&id, &live}, func() error { a.merged[id] = live; return nil }); err != nil {
		return nil, fmt.Errorf("read merged users: %w", err)
	}
	return stored, a.readMakers(ctx, tx, agentID)
}

// readMakers learns the names of those who made rows that ask for approval.
func (a *agent) readMakers(ctx context.Context, tx pgx.Tx, agentID string) error {
	rows, err := tx.Query(ctx, `
		SELECT DISTINCT u.id, u.name
		FROM agent_policies p
		JOIN users u ON u.id = p.created_by
		WHERE p.agent_id = $1
		  AND p.effect = 'require_approval'`, agentID)
	if err != nil {
		return fmt.Errorf("read makers of rows: %w", err)
	}
	a.makers = map[string]string{"admin": "the operator"}
	var id, name string
	if _, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error { a.makers[id] = name; return nil }); err != nil {
		return fmt.Errorf("read makers of rows: %w", err)
	}
	return nil
}

// compile makes the set of the stored rows and of those that the agent's
// deprecated fields stand for; it gives the stored ones in policy's form. A grant to
// a merged user is one to the person who lives on.
func (a agent) compile(agentID string, stored []Row) (*policy.Set, []policy.Row, error) {
	rows := make([]policy.Row, len(stored))
	for i, row := range stored {
		rows[i] = row.Compiled()
		rows[i].Maker = a.makers[row.CreatedBy]
		for g := range rows[i].Grants {
			grant := &rows[i].Grants[g]
			if live := a.merged[grant.Value]; live != "" && grant.Type == policy.GrantUser {
				grant.Value = live
			}
		}
	}
	virtual, err := policy.VirtualRows(agentID, a.autonomy, a.askedTools)
	if err != nil {
		return nil, nil, fmt.Errorf("read deprecated fields of %s: %w", agentID, err)
	}
	set, err := policy.Compile(agentID, append(virtual, rows...), policy.Options{
		Default: a.fallback, DefaultGrants: policy.BuiltinGrants,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("compile policy of %s: %w", agentID, err)
	}
	return set, rows, nil
}
