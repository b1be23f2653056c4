package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// CodeNoSession is the code of ErrNoSession.
const CodeNoSession = "no_session"

// ErrNoSession is the one answer to every session that a call may not name. It
// tells nothing of the session, not even whether it is there.
var ErrNoSession error = fault.New(fault.NotFound, CodeNoSession, "the session that the call names is none in which it can be made: "+
	"it takes the id of one chat or API session of this agent, as it stands in the events of that session, which has not ended, "+
	"in which its person has written to the agent, and whose person still is a member; with a key that is bound to a person, a session of that person")

// sessionName is what an id of a session can look like.
var sessionName = regexp.MustCompile(`^[!-~]{1,200}$`)

// IsName tells whether id can be the id of a session.
func IsName(id string) bool { return sessionName.MatchString(id) }

// OnBehalf gives a call that names a session its caller and the session. With
// the agent's own key the caller is then the session's person: whoever wrote
// what a program of the agent is answering. A key that is bound to a person
// stays that person's, and names their sessions alone.
//
// A bare key acts for nobody who has not written to the agent in that session:
// the sessions of typed commands and of other programs' calls are none of its
// business. Nor does it in a chat whose account is no longer that person's.
// Every refusal is ErrNoSession.
func OnBehalf(ctx context.Context, q db.Queryer, c identity.Caller, id string) (identity.Caller, Session, error) {
	if !IsName(id) {
		return c, Session{}, ErrNoSession
	}
	rows, err := q.Query(ctx, `
		SELECT s.id, s.agent_id, s.kind, person.id, s.key_prefix, s.created_at, s.ended_at
		FROM sessions s
		JOIN users u ON u.id = s.requester_id
		JOIN users person ON person.id = COALESCE(u.merged_into, u.id)
		WHERE s.id = $1
		  AND s.agent_id = $2
		  AND s.kind IN ('chat', 'api')
		  AND s.ended_at IS NULL
		  AND CASE
		      WHEN $3 <> '' THEN person.id = $3
		      ELSE EXISTS (
		          SELECT
		          FROM session_events e
		          WHERE e.session_id = s.id
		            AND e.type = 'user_message'
		      )
		  END
		  AND NOT EXISTS (
		      SELECT
		      FROM chats c
		      WHERE c.session_id = s.id
		        AND NOT EXISTS (
		            SELECT
		            FROM user_identities i
		            JOIN users holder ON holder.id = i.user_id
		            WHERE i.channel = c.channel
		              AND i.channel_user_id = c.identity
		              AND COALESCE(holder.merged_into, holder.id) = person.id
		        )
		  )`, id, c.AgentID, c.UserID)
	if err != nil {
		return c, Session{}, fmt.Errorf("read session of a call: %w", err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Session])
	if errors.Is(err, pgx.ErrNoRows) {
		return c, Session{}, ErrNoSession
	}
	if err != nil {
		return c, Session{}, fmt.Errorf("read session of a call: %w", err)
	}
	role, err := identity.RoleOf(ctx, q, c.AgentID, s.RequesterID)
	if err != nil {
		return c, Session{}, err
	}
	if role == "" {
		return c, Session{}, ErrNoSession
	}
	if c.UserID == "" {
		c.UserID, c.OnBehalf = s.RequesterID, true
	}
	return c, s, nil
}

// StillOnBehalf makes sure, after a wait, that the session still stands for the
// caller that OnBehalf gave: it may have ended, and a merge may have been undone.
// key is what the caller's key stands for now.
func StillOnBehalf(ctx context.Context, q db.Queryer, key, before identity.Caller, id string) error {
	now, _, err := OnBehalf(ctx, q, key, id)
	if err != nil {
		return err
	}
	same, err := identity.Same(ctx, q, now.UserID, before.UserID)
	if err == nil && !same {
		err = ErrNoSession
	}
	return err
}
