// Package rulestore keeps policy rows in PostgreSQL and their compiled sets in
// memory. It owns the table agent_policies; what a row means is package
// policy's to say.
package rulestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/policy"
)

// Row is a policy row as it is shown and sent.
type Row struct {
	ID           string          `json:"id"`
	AgentID      string          `json:"agentId"`
	ResourceType string          `json:"resourceType"`
	ResourceKey  string          `json:"resourceKey"`
	Effect       policy.Effect   `json:"effect"`
	Grants       json.RawMessage `json:"grants"`
	Scope        json.RawMessage `json:"scope"`
	Origin       policy.Origin   `json:"origin"`
	Note         string          `json:"note,omitempty"`
	Version      int             `json:"version"`
	CreatedBy    string          `json:"createdBy"`
	CreatedAt    time.Time       `json:"createdAt"`
}

const columns = `id, agent_id, resource_type, resource_key, effect, grants, scope,
	origin, note, version, created_by, created_at`

// Put stores a row in the caller's transaction; one with the same type, key,
// effect, origin and scope gets its grants and note and a new version. Call
// Store.Changed after the commit. A row that policy would not accept is Invalid; an
// unknown agent NotFound.
func Put(ctx context.Context, tx pgx.Tx, row policy.Row, actor string) (Row, error) {
	stored, _, err := put(ctx, tx, row, actor)
	return stored, err
}

// Add is Put with the grants added to those that the row has already, so that one
// requester's approval, or one grant, takes nothing from another's.
func Add(ctx context.Context, tx pgx.Tx, row policy.Row, actor string) (Row, error) {
	stored, _, err := add(ctx, tx, row, actor)
	return stored, err
}

// put also gives the row as it was before.
func put(ctx context.Context, tx pgx.Tx, row policy.Row, actor string) (stored Row, before []Row, err error) {
	return store(ctx, tx, row, actor, `EXCLUDED.grants`, `EXCLUDED.note`)
}

// add makes any stand for all that it speaks for.
func add(ctx context.Context, tx pgx.Tx, row policy.Row, actor string) (stored Row, before []Row, err error) {
	stored, before, err = store(ctx, tx, row, actor, `(
		SELECT CASE
		           WHEN bool_or(g ->> 'type' = 'any') THEN '[{"type":"any"}]'
		           ELSE COALESCE(jsonb_agg(DISTINCT g), '[]')
		       END
		FROM jsonb_array_elements(p.grants || EXCLUDED.grants) g)`, `COALESCE(NULLIF(EXCLUDED.note, ''), p.note)`)
	if err != nil {
		return stored, before, err
	}
	if err := stored.Compiled().Validate(); err != nil {
		return stored, before, Invalid(err) // more grants than a row may have
	}
	return stored, before, nil
}

func store(ctx context.Context, tx pgx.Tx, row policy.Row, actor, grantsExpr, noteExpr string) (stored Row, before []Row, err error) {
	row = row.Complete()
	if row.Origin == "" {
		row.Origin = policy.OriginAdmin
	}
	if err := row.Validate(); err != nil {
		return Row{}, nil, Invalid(err)
	}
	grants, err := json.Marshal(slices.Clone(row.Grants))
	if err != nil {
		return Row{}, nil, fmt.Errorf("encode grants: %w", err)
	}
	if row.Grants == nil {
		grants = []byte("[]")
	}
	scope := string(row.Scope.Canonical())
	before, err = replaced(ctx, tx, row, scope)
	if err != nil {
		return Row{}, nil, err
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO agent_policies AS p
		    (id, agent_id, resource_type, resource_key, effect, grants, scope, scope_key, origin, note, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $7, $8, $9, $10)
		ON CONFLICT (agent_id, resource_type, resource_key, effect, origin, sha256(scope_key::bytea)) DO UPDATE
		SET grants = `+grantsExpr+`,
		    note = `+noteExpr+`,
		    version = p.version + 1
		RETURNING `+columns,
		uuid.Must(uuid.NewV7()).String(), row.AgentID, row.ResourceType, row.ResourceKey,
		row.Effect, grants, scope, row.Origin, row.Note, actor)
	if err != nil {
		return Row{}, nil, fmt.Errorf("store policy row: %w", err)
	}
	stored, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Row])
	if foreignKey(err) {
		return Row{}, nil, fault.NotFoundf("no agent %q", row.AgentID)
	}
	if err != nil {
		return Row{}, nil, fmt.Errorf("store policy row: %w", err)
	}
	return stored, before, changed(ctx, tx, row.AgentID, "policy_set", actor, before, []Row{stored})
}

// replaced is the row that another with the same key takes the place of.
func replaced(ctx context.Context, tx pgx.Tx, row policy.Row, scope string) ([]Row, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+columns+`
		FROM agent_policies
		WHERE agent_id = $1
		  AND resource_type = $2
		  AND resource_key = $3
		  AND effect = $4
		  AND origin = $5
		  AND scope_key = $6
		FOR UPDATE`, row.AgentID, row.ResourceType, row.ResourceKey, row.Effect, row.Origin, scope)
	if err != nil {
		return nil, fmt.Errorf("read replaced row: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}

// Delete removes the rows of one key, of one effect or, with an empty effect,
// of all. It gives the removed rows; none is NotFound.
func Delete(ctx context.Context, tx pgx.Tx, agentID, resourceType, resourceKey string, effect policy.Effect, actor string) ([]Row, error) {
	rows, err := tx.Query(ctx, `
		DELETE FROM agent_policies
		WHERE agent_id = $1
		  AND resource_type = $2
		  AND resource_key = $3
		  AND ($4 = '' OR effect = $4)
		RETURNING `+columns, agentID, resourceType, resourceKey, string(effect))
	if err != nil {
		return nil, fmt.Errorf("delete policy rows: %w", err)
	}
	removed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
	if err != nil {
		return nil, fmt.Errorf("delete policy rows: %w", err)
	}
	if len(removed) == 0 {
		return nil, fault.NotFoundf("agent %q has no %s row for %q", agentID, resourceType, resourceKey)
	}
	return removed, changed(ctx, tx, agentID, "policy_deleted", actor, removed, nil)
}

// Withdraw takes one grant out of a row and leaves the row's others; with its last
// grant the row goes. It does nothing and gives false when there is no such row or
// it has no such grant. Call Store.Changed after the commit.
func Withdraw(ctx context.Context, tx pgx.Tx, agentID, id string, grant policy.Grant, actor string) (bool, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+columns+`
		FROM agent_policies
		WHERE id = $1
		  AND agent_id = $2
		FOR UPDATE`, id, agentID)
	if err != nil {
		return false, fmt.Errorf("read policy row: %w", err)
	}
	before, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
	if err != nil || len(before) == 0 {
		return false, err
	}
	grants, err := policy.ParseGrants(before[0].Grants)
	if err != nil {
		return false, fmt.Errorf("read grants: %w", err)
	}
	rest := slices.DeleteFunc(slices.Clone(grants), func(g policy.Grant) bool { return g == grant })
	switch len(rest) {
	case len(grants):
		return false, nil
	case 0:
		_, err := tx.Exec(ctx, `DELETE FROM agent_policies WHERE id = $1`, id)
		if err != nil {
			return false, fmt.Errorf("delete policy row: %w", err)
		}
		return true, changed(ctx, tx, agentID, "policy_deleted", actor, before, nil)
	}
	rows, err = tx.Query(ctx, `
		UPDATE agent_policies
		SET grants = $2,
		    version = version + 1
		WHERE id = $1
		RETURNING `+columns, id, rest)
	if err != nil {
		return false, fmt.Errorf("withdraw grant: %w", err)
	}
	after, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
	if err != nil {
		return false, fmt.Errorf("withdraw grant: %w", err)
	}
	return true, changed(ctx, tx, agentID, "policy_set", actor, before, after)
}

// changed counts up the agent's policy version and writes the history.
func changed(ctx context.Context, tx pgx.Tx, agentID, kind, actor string, before, after []Row) error {
	var version int64
	err := tx.QueryRow(ctx, `
		UPDATE agents
		SET policy_version = policy_version + 1
		WHERE id = $1
		RETURNING policy_version`, agentID).Scan(&version)
	if err != nil {
		return fmt.Errorf("count policy version: %w", err)
	}
	return audit.Write(ctx, tx, audit.Record{
		Kind: kind, AgentID: agentID, Actor: actor,
		Data: map[string]any{"before": before, "after": after, "policyVersion": version},
	})
}

// List gives an agent's rows in a stable order; resourceType filters when set.
func List(ctx context.Context, q db.Queryer, agentID, resourceType string) ([]Row, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM agent_policies
		WHERE agent_id = $1
		  AND ($2 = '' OR resource_type = $2)
		ORDER BY resource_type, resource_key, effect, id`, agentID, resourceType)
	if err != nil {
		return nil, fmt.Errorf("list policy rows: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}

// Compiled turns a stored row into policy's; what cannot be read is kept and
// counts as a deny.
func (r Row) Compiled() policy.Row {
	row := policy.Row{
		ID: r.ID, AgentID: r.AgentID, ResourceType: r.ResourceType, ResourceKey: r.ResourceKey,
		Effect: r.Effect, Origin: r.Origin, Version: r.Version, Note: r.Note,
	}
	var err error
	if row.Grants, err = policy.ParseGrants(r.Grants); err != nil {
		row.Unreadable = err
	}
	if row.Scope, err = policy.ParseScope(r.ResourceType, r.Scope); err != nil {
		row.Unreadable = err
	}
	return row
}

// Words is the row in one line, for people.
func (r Row) Words() string {
	whom := ""
	for _, g := range r.Compiled().Grants {
		whom += " " + g.String()
	}
	if whom == "" {
		whom = " nobody"
	}
	return fmt.Sprintf("%s %s %s of agent %s, for%s", r.Effect, r.ResourceType, r.ResourceKey, r.AgentID, whom)
}

// Invalid gives what policy refuses the form that reaches a caller: the code
// invalid_policy, with field and position. Other errors stay as they are.
func Invalid(err error) error {
	var bad *policy.InvalidError
	if errors.As(err, &bad) {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid_policy", Message: bad.Error(),
			Data: map[string]any{"field": bad.Field, "position": bad.Position}}
	}
	return err
}

func foreignKey(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "23503"
}
