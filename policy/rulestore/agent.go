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

// compile makes the set of the stored rows and of those that the agent's
// deprecated fields stand for; it gives the stored ones in policy's form.
func (a agent) compile(agentID string, stored []Row) (*policy.Set, []policy.Row, error) {
	rows := make([]policy.Row, len(stored))
	for i, row := range stored {
		rows[i] = row.Compiled()
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
