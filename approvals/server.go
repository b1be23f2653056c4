package approvals

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/policy/rulestore"
)

// ofServer is the condition that the request r is about the server that a parameter
// names, or about a tool of it.
func ofServer(param string) string {
	return `(
	r.resource_type = 'mcp' AND r.resource_key = ` + param + `
	OR r.resource_type = 'tool' AND starts_with(r.resource_key, 'mcp__' || ` + param + ` || '__')
	)`
}

// EndServer ends, in the transaction that removes a server, what was granted about
// it with every agent: approvals and open requests, and rows that allow it by name.
// Another server of that name is another server. keepRules leaves the rows; what was
// approved was approved about this one and ends all the same. Rows that deny or ask
// always stay, and are told.
func (s *Service) EndServer(ctx context.Context, tx pgx.Tx, server string, keepRules bool, a Actor) (e Endings, err error) {
	e = newEndings()
	agents, err := agentsWith(ctx, tx, server)
	if err != nil {
		return e, err
	}
	rows, err := rulestore.NamingServer(ctx, tx, server)
	if err != nil {
		return e, err
	}
	for _, row := range rows {
		agents = append(agents, row.AgentID)
	}
	slices.Sort(agents)
	agents = slices.Compact(agents)
	for _, agentID := range agents {
		if err := s.endAsked(ctx, tx, agentID, ofServer("$2"), server, "Server "+server+" was removed.", a, &e); err != nil {
			return e, err
		}
		if keepRules {
			continue
		}
		gone, err := rulestore.ForgetServer(ctx, tx, agentID, server, a.ID())
		if err != nil {
			return e, err
		}
		e.Deleted = append(e.Deleted, gone...)
	}
	stay, err := rulestore.NamingServer(ctx, tx, server)
	if err != nil {
		return e, err
	}
	e.Kept = append(e.Kept, stay...)
	db.AfterCommit(tx, func() {
		for _, agentID := range agents {
			s.Rules.Changed(agentID)
		}
	})
	return e, nil
}

// agentsWith lists the agents for which a request about a server is open, or may let
// something through.
func agentsWith(ctx context.Context, tx pgx.Tx, server string) ([]string, error) {
	about := ofServer("$1")
	rows, err := tx.Query(ctx, `
		SELECT agent_id
		FROM approval_requests r
		WHERE status = 'pending'
		  AND `+about+`
		UNION
		SELECT g.agent_id
		FROM approval_grants g
		JOIN approval_requests r ON r.id = g.request_id
		WHERE `+mayLive+`
		  AND `+about+`
		ORDER BY agent_id`, server)
	if err != nil {
		return nil, fmt.Errorf("find agents of a server: %w", err)
	}
	agents, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find agents of a server: %w", err)
	}
	return agents, nil
}
