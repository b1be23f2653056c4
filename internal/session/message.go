package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
)

// Jobs inserts River jobs with the caller's transaction. *river.Client is one.
type Jobs interface {
	InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error)
}

// MessageQueue is the River queue of what agents say in chats; only processes
// that run channels work it.
const MessageQueue = "messages"

// DeliverArgs brings an agent_message to the chat of its session. Worked by
// package bot.
type DeliverArgs struct {
	EventID int64 `json:"eventId"`
}

// Kind names the job in River's table.
func (DeliverArgs) Kind() string { return "session_deliver" }

// MaxMessage bounds a message, in characters.
const MaxMessage = 100_000

// Message is the payload of user_message and agent_message.
type Message struct {
	Text string `json:"text"`
	// UserID and Name are those of the person who wrote it; empty for an agent.
	UserID string `json:"userId,omitempty"`
	Name   string `json:"name,omitempty"`
}

// Post appends what a requester says in a session: the agent itself an
// agent_message, which is brought to the person's chat where the session has
// one, its person a user_message until the session has ended. Who it is, is the
// caller's to know; anybody else is Forbidden. Publish Keys after the commit.
func Post(ctx context.Context, tx pgx.Tx, jobs Jobs, s Session, requester string, m Message) (int64, error) {
	if n := len([]rune(m.Text)); n == 0 || n > MaxMessage {
		return 0, fault.Invalidf("text: want 1 to %d characters", MaxMessage)
	}
	if requester != identity.AgentRequester(s.AgentID) {
		same, err := identity.Same(ctx, tx, s.RequesterID, requester)
		if err != nil {
			return 0, err
		}
		if !same {
			return 0, fault.New(fault.Forbidden, "no_participant", "only those who take part in a session may write in it")
		}
		if s.EndedAt != nil {
			return 0, fault.New(fault.Conflict, "session_ended", "session %q has ended; begin a new one", s.ID)
		}
		m.UserID = requester
		return Append(ctx, tx, s.AgentID, s.ID, UserMessage, m)
	}
	if err := Attach(ctx, tx, s.AgentID); err != nil {
		return 0, err
	}
	id, err := Append(ctx, tx, s.AgentID, s.ID, AgentMessage, Message{Text: m.Text})
	if err != nil || s.Kind != Chat {
		return id, err
	}
	_, err = jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{
		Args: DeliverArgs{EventID: id}, InsertOpts: &river.InsertOpts{Queue: MessageQueue, MaxAttempts: 100},
	}})
	if err != nil {
		return 0, fmt.Errorf("queue message: %w", err)
	}
	return id, nil
}

// attachedFor is how long a program of an agent counts as attached after it was
// last heard of: three heartbeats of an event stream.
const attachedFor = 45 * time.Second

// AttachEvery is how often a program that only listens is to be noted.
const AttachEvery = 10 * time.Second

// Attach notes that a program of the agent is there: one with the agent's own
// key that follows events or answers.
func Attach(ctx context.Context, q db.Queryer, agentID string) error {
	_, err := q.Exec(ctx, `
		INSERT INTO agent_runtimes (agent_id, seen_at)
		VALUES ($1, clock_timestamp())
		ON CONFLICT (agent_id) DO UPDATE
		SET seen_at = clock_timestamp()`, agentID)
	if err != nil {
		return fmt.Errorf("note the agent's program: %w", err)
	}
	return nil
}

// Attached tells whether a program of the agent was heard of a moment ago.
func Attached(ctx context.Context, q db.Queryer, agentID string) (bool, error) {
	var yes bool
	err := q.QueryRow(ctx, `
		SELECT seen_at > clock_timestamp() - make_interval(secs => $2)
		FROM agent_runtimes
		WHERE agent_id = $1`, agentID, attachedFor.Seconds()).Scan(&yes)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("look for the agent's program: %w", err)
	}
	return yes, nil
}

// Events gives the newest events of a session, oldest first, at most limit,
// with ids below before where that is not 0.
func Events(ctx context.Context, q db.Queryer, agentID, sessionID string, before int64, limit int) ([]Event, error) {
	rows, err := q.Query(ctx, `
		SELECT *
		FROM (
		    SELECT id, session_id, agent_id, type, payload, created_at
		    FROM session_events
		    WHERE session_id = $1
		      AND agent_id = $2
		      AND ($3 = 0 OR id < $3)
		    ORDER BY id DESC
		    LIMIT $4
		) newest
		ORDER BY id`, sessionID, agentID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
}
