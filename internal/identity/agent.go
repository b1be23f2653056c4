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
	"holm/policy"
)

// Agent is a registered caller; its id is its name.
type Agent struct {
	ID              string `json:"id"`
	DefaultDecision string `json:"defaultDecision"`
	Access          string `json:"access"`
	// AutonomyLevel and RequireApprovalFor are deprecated in favour of policy
	// rows, as which they are read: readonly denies the write tools, supervised
	// has the named tools approved, full does nothing.
	AutonomyLevel      string    `json:"autonomyLevel"`
	RequireApprovalFor []string  `json:"requireApprovalFor"`
	CreatedAt          time.Time `json:"createdAt"`
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

const agentColumns = `id, default_decision, access, autonomy_level, require_approval_for, created_at`

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

// AgentChange is what becomes of an agent; what is nil stays.
type AgentChange struct {
	DefaultDecision    *string
	AutonomyLevel      *string
	RequireApprovalFor *[]string
}

// ModifyAgent changes how an agent's calls are decided where rows say nothing,
// and its deprecated fields. Tell the rules of it after the commit.
func ModifyAgent(ctx context.Context, tx pgx.Tx, id string, c AgentChange, actor string) (Agent, error) {
	agent, err := GetAgent(ctx, tx, id)
	if err != nil {
		return Agent{}, err
	}
	level, named := agent.AutonomyLevel, agent.RequireApprovalFor
	if c.AutonomyLevel != nil {
		level = *c.AutonomyLevel
	}
	if c.RequireApprovalFor != nil {
		named = *c.RequireApprovalFor
	}
	if _, err := policy.VirtualRows(id, level, named); err != nil {
		return Agent{}, fault.Invalidf("%v", err)
	}
	if c.DefaultDecision != nil && !policy.Effect(*c.DefaultDecision).Valid() {
		return Agent{}, fault.Invalidf("default decision %q: want allow, deny or require_approval", *c.DefaultDecision)
	}
	_, err = tx.Exec(ctx, `
		UPDATE agents
		SET default_decision = COALESCE($2, default_decision),
		    autonomy_level = $3,
		    require_approval_for = $4,
		    policy_version = policy_version + 1
		WHERE id = $1`, id, c.DefaultDecision, level, append([]string{}, named...))
	if err != nil {
		return Agent{}, fmt.Errorf("modify agent: %w", err)
	}
	after, err := GetAgent(ctx, tx, id)
	if err != nil {
		return Agent{}, err
	}
	return after, audit.Write(ctx, tx, audit.Record{Kind: "agent_modified", AgentID: id, Actor: actor,
		Data: map[string]any{"before": agent, "after": after}})
}

// RemoveAgent deletes an agent with its keys, rows, sessions and requests; the
// audit log keeps what happened. What its owners said of people stays their word:
// another agent of that name is another one.
func RemoveAgent(ctx context.Context, tx pgx.Tx, id, actor string) error {
	tag, err := tx.Exec(ctx, `DELETE FROM agents WHERE id = $1`, id)
	if err != nil {
		return fmt.Errorf("remove agent: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.NotFoundf("no agent %q", id)
	}
	for _, table := range []string{"user_identities", "user_merges"} {
		if _, err := tx.Exec(ctx, `UPDATE `+table+` SET claimed_by = $1 || ' (removed)' WHERE claimed_by = $1`, id); err != nil {
			return fmt.Errorf("part a removed agent from its word: %w", err)
		}
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
