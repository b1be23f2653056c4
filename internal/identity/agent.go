// Package identity knows who there is: agents and their keys, people and their
// identities on channels, the roles people have with agents, and the
// invitations that give them. What somebody may do is decided by policy.
package identity

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
)

// Agent is a registered caller; its id is its name.
type Agent struct {
	ID              string    `json:"id"`
	DefaultDecision string    `json:"defaultDecision"`
	Access          string    `json:"access"`
	CreatedAt       time.Time `json:"createdAt"`
}

// agentName keeps names usable in addresses, identities and shells.
var agentName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// ValidAgentName tells whether an agent may be called name.
func ValidAgentName(name string) bool { return agentName.MatchString(name) }

// CreateAgent registers an agent. A name that is taken is a conflict.
func CreateAgent(ctx context.Context, tx pgx.Tx, name, actor string) (Agent, error) {
	if !ValidAgentName(name) {
		return Agent{}, fault.Invalidf("agent name %q: want a letter, then letters, digits, - or _, at most 64", name)
	}
	_, err := tx.Exec(ctx, `INSERT INTO agents (id) VALUES ($1)`, name)
	if unique(err) {
		return Agent{}, fault.New(fault.Conflict, "exists", "agent %q exists already", name)
	}
	if err != nil {
		return Agent{}, fmt.Errorf("create agent: %w", err)
	}
	if err := audit.Write(ctx, tx, audit.Record{Kind: "agent_created", AgentID: name, Actor: actor, Data: map[string]any{}}); err != nil {
		return Agent{}, err
	}
	return GetAgent(ctx, tx, name)
}

const agentColumns = `id, default_decision, access, created_at`

// GetAgent reads one agent.
func GetAgent(ctx context.Context, q db.Queryer, id string) (Agent, error) {
	rows, err := q.Query(ctx, `
		SELECT `+agentColumns+`
		FROM agents
		WHERE id = $1`, id)
	if err != nil {
		return Agent{}, fmt.Errorf("read agent: %w", err)
	}
	agent, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Agent])
	if errors.Is(err, pgx.ErrNoRows) {
		return Agent{}, fault.NotFoundf("no agent %q", id)
	}
	return agent, err
}

// ListAgents gives all agents by name.
func ListAgents(ctx context.Context, q db.Queryer) ([]Agent, error) {
	rows, err := q.Query(ctx, `
		SELECT `+agentColumns+`
		FROM agents
		ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Agent])
}

// RemoveAgent deletes an agent with its keys, rows, sessions and requests; the
// audit log keeps what happened.
func RemoveAgent(ctx context.Context, tx pgx.Tx, id, actor string) error {
	tag, err := tx.Exec(ctx, `DELETE FROM agents WHERE id = $1`, id)
	if err != nil {
		return fmt.Errorf("remove agent: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.NotFoundf("no agent %q", id)
	}
	return audit.Write(ctx, tx, audit.Record{Kind: "agent_removed", AgentID: id, Actor: actor, Data: map[string]any{}})
}

// unique tells whether err is a violated unique constraint.
func unique(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "23505"
}

// foreignKey gives the constraint that says a row refers to nothing.
func foreignKey(err error) (constraint string, ok bool) {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "23503" {
		return pgErr.ConstraintName, true
	}
	return "", false
}
