// Package session keeps conversations and MCP connections and their
// append-only lists of events. Who may read a session is decided by its
// callers; what an event means is known by whoever appends it.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// Kind tells what a session is.
type Kind string

const (
	// MCP is one stateful MCP connection; its id is "mcp:" and the protocol's
	// session id.
	MCP Kind = "mcp"
	// Key is what all sessionless calls with one key share; its id is "key:"
	// and the key's prefix.
	Key Kind = "key"
	// API is a session that a program made over REST.
	API Kind = "api"
	// Chat is one person's conversation on a channel.
	Chat Kind = "chat"
)

// Session is a conversation of one requester with one agent.
type Session struct {
	ID          string    `json:"id"`
	AgentID     string    `json:"agentId"`
	Kind        Kind      `json:"kind"`
	RequesterID string    `json:"requesterId"`
	KeyPrefix   string    `json:"-"`
	CreatedAt   time.Time `json:"createdAt"`
	// EndedAt is since when nobody acts in it on behalf of its person.
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// Ensure stores s unless it is there already. A session id that belongs to
// another agent, requester or key is refused as unknown, and so is an agent
// that is not there. Merged users are one requester.
func Ensure(ctx context.Context, q db.Queryer, s Session) error {
	const insert = `
		INSERT INTO sessions (id, agent_id, kind, requester_id, key_prefix)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO NOTHING`
	_, err := q.Exec(ctx, insert, s.ID, s.AgentID, s.Kind, s.RequesterID, s.KeyPrefix)
	if foreignKey(err) {
		return fault.NotFoundf("no agent %q", s.AgentID)
	}
	if err != nil {
		return fmt.Errorf("store session: %w", err)
	}
	stored, err := Get(ctx, q, s.AgentID, s.ID)
	if err != nil {
		return err
	}
	if stored.KeyPrefix != s.KeyPrefix {
		return unknown(s.ID)
	}
	same, err := identity.Same(ctx, q, stored.RequesterID, s.RequesterID)
	if err != nil || same {
		return err
	}
	return follow(ctx, q, s)
}

// QueueStands has the batch b look whether s is stored just as it is: then Ensure
// has nothing to do.
func QueueStands(b *pgx.Batch, s Session, stands *bool) {
	b.Queue(`
		SELECT EXISTS (
		    SELECT 1
		    FROM sessions
		    WHERE id = $1
		      AND agent_id = $2
		      AND requester_id = $3
		      AND key_prefix = $4
		)`, s.ID, s.AgentID, s.RequesterID, s.KeyPrefix).
		QueryRow(func(row pgx.Row) error { return row.Scan(stands) })
}

// follow gives the session of a key that is bound to a user to whom the key
// speaks for now: after a merge was undone that is not the person who had the
// session while the merge stood. Any other requester is refused.
func follow(ctx context.Context, q db.Queryer, s Session) error {
	tag, err := q.Exec(ctx, `
		UPDATE sessions s
		SET requester_id = $2
		FROM agent_keys k
		JOIN users u ON u.id = k.user_id
		WHERE s.id = $1
		  AND k.prefix = s.key_prefix
		  AND COALESCE(u.merged_into, u.id) = $2`, s.ID, s.RequesterID)
	if err != nil {
		return fmt.Errorf("follow the key of a session: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return unknown(s.ID)
	}
	return nil
}

const columns = `id, agent_id, kind, requester_id, key_prefix, created_at, ended_at`

// Get reads one session of an agent.
func Get(ctx context.Context, q db.Queryer, agentID, id string) (Session, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM sessions
		WHERE id = $1 AND agent_id = $2`, id, agentID)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Session])
	if errors.Is(err, pgx.ErrNoRows) {
		return Session{}, unknown(id)
	}
	return s, err
}

// List gives the newest sessions of an agent; requester, the whole person, filters
// when set, and those of the kinds also are given then.
func List(ctx context.Context, q db.Queryer, agentID, requester string, limit int, also ...Kind) ([]Session, error) {
	ids, err := identity.PersonIDs(ctx, q, requester)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM sessions
		WHERE agent_id = $1 AND ($2 = '' OR requester_id = ANY($4) OR kind = ANY($5))
		ORDER BY created_at DESC, id
		LIMIT $3`, agentID, requester, limit, ids, also)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Session])
}

// End ends sessions: no call is made in them on behalf of their person any more.
// What waits for an approval there is refused when the answer comes. Ended
// again one stays as it is.
func End(ctx context.Context, q db.Queryer, ids ...string) error {
	_, err := q.Exec(ctx, `
		UPDATE sessions
		SET ended_at = clock_timestamp()
		WHERE id = ANY($1)
		  AND ended_at IS NULL`, ids)
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

func unknown(id string) error {
	return fault.NotFoundf("no session %q", id)
}

// foreignKey tells whether err is a reference to a row that is not there.
func foreignKey(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "23503"
}

// Event is one entry of a session's list. ID rises with every event of the
// installation, so a reader resumes from any point on any replica. An event
// without an ID is for the wire alone and in no list.
type Event struct {
	ID        int64           `json:"id,omitzero"`
	SessionID string          `json:"sessionId"`
	AgentID   string          `json:"-"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	CreatedAt time.Time       `json:"createdAt"`
}

// Types of events that Holm itself appends.
const (
	ApprovalRequested = "approval_requested"
	ApprovalResolved  = "approval_resolved"
	ApprovalExecuted  = "approval_executed"
	// ApprovalReminded and ApprovalEscalated are of a question that waits.
	ApprovalReminded  = "approval_reminded"
	ApprovalEscalated = "approval_escalated"
	// ApprovalUndelivered: nobody who may answer could be reached so far, and
	// ApprovalDelivered: somebody has been after all.
	ApprovalUndelivered = "approval_undelivered"
	ApprovalDelivered   = "approval_delivered"
	// ApprovalPending is for the wire alone.
	ApprovalPending = "approval_pending"
	// ToolCall and ToolResult are of calls that people type in a chat.
	ToolCall   = "tool_call"
	ToolResult = "tool_result"
	// UserMessage and AgentMessage are what is said in a session.
	UserMessage  = "user_message"
	AgentMessage = "agent_message"
)

// ApprovalTypes are the types that tell the life of a request.
func ApprovalTypes() []string {
	return []string{ApprovalRequested, ApprovalReminded, ApprovalEscalated, ApprovalUndelivered, ApprovalDelivered, ApprovalResolved, ApprovalExecuted}
}

// Types are all types that can be asked for by name.
func Types() []string {
	return append(ApprovalTypes(), UserMessage, AgentMessage, ToolCall, ToolResult)
}

// Append adds an event in the caller's transaction and gives its id.
//
// The transaction id is taken before the event's number: Stream relies on that
// to know when no lower number can appear any more.
func Append(ctx context.Context, tx pgx.Tx, agentID, sessionID, eventType string, payload any) (int64, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return 0, fmt.Errorf("encode %s event: %w", eventType, err)
	}
	var id int64
	if err := tx.QueryRow(ctx, insertEvent, sessionID, agentID, eventType, body).Scan(&id); err != nil {
		return 0, fmt.Errorf("append %s event: %w", eventType, err)
	}
	return id, nil
}

// QueueAppend is Append as a statement of the batch b, which the caller sends in
// a transaction.
func QueueAppend(b *pgx.Batch, agentID, sessionID, eventType string, payload any) error {
	body, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode %s event: %w", eventType, err)
	}
	b.Queue(insertEvent, sessionID, agentID, eventType, body)
	return nil
}

const insertEvent = `
	WITH started AS MATERIALIZED (SELECT pg_current_xact_id() AS xid)
	INSERT INTO session_events (id, session_id, agent_id, type, payload)
	SELECT nextval('session_event_ids'), $1, $2, $3, $4
	FROM started
	WHERE started.xid IS NOT NULL
	RETURNING id`
