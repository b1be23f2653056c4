package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// aboutR are the arguments by which approval_stands knows the request r, behind
// the person it is asked about. Who may decide is decided there alone, so that
// cards, taps, votes and claims cannot differ.
const aboutR = `r.agent_id, r.requester_id, r.settings, r.escalated_at IS NOT NULL`

// MayDecide tells whether a user may decide r now: a member of the agent whom
// each rule that asked names (the owners, when it names nobody), and on a request
// of their own only an owner, where one approval is enough.
func MayDecide(ctx context.Context, q db.Queryer, r Request, userID string) (may bool, err error) {
	err = q.QueryRow(ctx, `
		SELECT approval_stands($2, `+aboutR+`)
		FROM approval_requests r
		WHERE r.id = $1`, r.ID, userID).Scan(&may)
	if err != nil {
		return false, fmt.Errorf("look whether somebody may decide: %w", err)
	}
	return may, nil
}

// queueMayDecide has the batch b look whether a user may decide the question that
// a request belongs to, as MayDecide does, and who the user is after merges.
func queueMayDecide(b *pgx.Batch, requestID, userID string, may *bool, live *string) {
	b.Queue(`
		SELECT approval_stands($2, `+aboutR+`),
		       COALESCE((SELECT merged_into FROM users WHERE id = $2), $2)
		FROM approval_requests r
		WHERE r.id = `+questionOf, requestID, userID).
		Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{may, live}, func() error { return nil })
			return err
		})
}

// mayNotDecide says why an actor may not decide r.
func mayNotDecide(ctx context.Context, q db.Queryer, r Request, a Actor) error {
	own, err := identity.Same(ctx, q, a.UserID, r.RequesterID)
	switch {
	case err != nil:
		return err
	case own:
		return fault.New(fault.Forbidden, "self_approval", "you asked for request %d yourself: somebody else must decide it", r.ShortID)
	case r.Settings.byOwners():
		return fault.New(fault.Forbidden, "not_a_reviewer", "only an owner of agent %q may decide this", r.AgentID)
	}
	return fault.New(fault.Forbidden, "not_a_reviewer", "only those whom its rule names may decide request %d", r.ShortID)
}

// reviewer is one address of somebody who may decide a request.
type reviewer struct {
	UserID string
	identity.Address
}

// queueReviewers has the batch b list every address of everybody who may decide
// a request now.
func queueReviewers(b *pgx.Batch, requestID string, settings Settings, list *[]reviewer) {
	b.Queue(`
		WITH named AS MATERIALIZED (
		    SELECT DISTINCT COALESCE(u.merged_into, u.id) AS id
		    FROM approval_requests r
		    JOIN agent_members m ON m.agent_id = r.agent_id
		    JOIN users u ON u.id = m.user_id
		    WHERE r.id = $1
		      AND (m.role = 'owner' OR NOT $2) -- spares the guests the look, where owners decide
		      AND approval_stands(u.id, `+aboutR+`)
		)
		SELECT named.id, i.channel, i.channel_user_id
		FROM named
		JOIN users every ON COALESCE(every.merged_into, every.id) = named.id
		JOIN user_identities i ON i.user_id = every.id
		ORDER BY named.id, i.channel, i.channel_user_id`, requestID, settings.byOwners()).
		Query(func(rows pgx.Rows) (err error) {
			*list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (to reviewer, err error) {
				err = row.Scan(&to.UserID, &to.Channel, &to.Identity)
				return to, err
			})
			return err
		})
}

// Reviewing lists the agents of which the user may decide an open request.
func Reviewing(ctx context.Context, q db.Queryer, userID string) ([]string, error) {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT r.agent_id
		FROM agent_members m
		JOIN users u ON u.id = m.user_id
		JOIN approval_requests r ON r.agent_id = m.agent_id
		WHERE COALESCE(u.merged_into, u.id) = $1
		  AND r.status = 'pending'
		  AND r.expires_at > clock_timestamp()
		  AND approval_stands($1, `+aboutR+`)
		ORDER BY r.agent_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list agents to review for: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
