package rulestore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/policy"
)

// namesServer is the condition that a row p speaks of the server $1, of tools of it,
// or of files and commands there, by name. Names of servers have no _ in them, so a
// prefix is exact; the sandbox of what a server reaches has its name.
const namesServer = `(
	p.resource_type = 'mcp' AND p.resource_key = $1
	OR p.resource_type = 'tool' AND starts_with(p.resource_key, 'mcp__' || $1 || '__')
	OR p.resource_type IN ('file', 'exec') AND p.scope ->> 'sandbox' = $1
	)`

// reachesServer is the condition that a row p allows, by a pattern for more, what
// may be a tool of the server $1.
const reachesServer = `(
	p.effect = 'allow'
	AND strpos(p.resource_key, '*') > 0
	AND (p.resource_type = 'mcp' AND starts_with($1, split_part(p.resource_key, '*', 1))
	    OR p.resource_type = 'tool' AND starts_with('mcp__' || $1 || '__', split_part(p.resource_key, '*', 1)))
	)`

// AboutServer lists the rows of all agents that hold for the tools of a server, be
// it there or not: those that name it, and those that allow them by a pattern.
func AboutServer(ctx context.Context, q db.Queryer, server string) ([]Row, error) {
	return serverRows(ctx, q, `(`+namesServer+` OR `+reachesServer+`)`, server)
}

// NamingServer lists the rows of all agents that name a server.
func NamingServer(ctx context.Context, q db.Queryer, server string) ([]Row, error) {
	return serverRows(ctx, q, namesServer, server)
}

func serverRows(ctx context.Context, q db.Queryer, which, server string) ([]Row, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM agent_policies p
		WHERE `+which+`
		ORDER BY agent_id, resource_type, resource_key, effect, id`, server)
	if err != nil {
		return nil, fmt.Errorf("list rows about a server: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}

// ForgetServer deletes the rows of an agent that allow a server or tools of it by
// name, and gives them. Rows that deny or ask stay. Call Store.Changed after the commit.
func ForgetServer(ctx context.Context, tx pgx.Tx, agentID, server, actor string) ([]Row, error) {
	rows, err := tx.Query(ctx, `
		DELETE FROM agent_policies p
		WHERE p.agent_id = $2
		  AND p.effect = $3
		  AND `+namesServer+`
		RETURNING `+columns, server, agentID, policy.Allow)
	if err != nil {
		return nil, fmt.Errorf("forget rows about a server: %w", err)
	}
	removed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
	if err != nil {
		return nil, fmt.Errorf("forget rows about a server: %w", err)
	}
	if len(removed) == 0 {
		return nil, nil
	}
	return removed, changed(ctx, tx, agentID, "policy_deleted", actor, removed, nil)
}
