package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/session"
	"holm/policy"
)

// PendingWatch tells the reader of an owner's stream which questions are open to
// the owners of an agent: all at its first look, then each as it comes. One that is
// asked in the requester's own session is open to them when that has ended.
type PendingWatch struct {
	Queryer db.Queryer
	AgentID string

	told map[string]bool
}

// PendingEvent is the payload of an approval_pending event: that of
// approval_requested, with who asks, why, and what may be answered.
type PendingEvent struct {
	requestedEvent
	RequesterID   string              `json:"requesterId"`
	RequesterName string              `json:"requesterName"`
	Rule          string              `json:"rule"`
	Resolutions   []policy.Resolution `json:"resolutions"`
	TTLMinutes    int                 `json:"ttlMinutes"`
}

// openEvent has all arguments: the event is kept nowhere, and its reader may decide
// by it.
func (r Request) openEvent() requestedEvent {
	e := r.requestedEvent()
	e.Args = r.Shown()
	return e
}

// maxOpen bounds what one look tells of; the others follow when these are
// decided.
const maxOpen = 1000

// Next gives events without an id, for the wire alone.
func (w *PendingWatch) Next(ctx context.Context) ([]session.Event, error) {
	rows, err := w.Queryer.Query(ctx, `
		SELECT id
		FROM approval_requests
		WHERE agent_id = $1
		  AND status = 'pending'
		  AND mode = 'async'
		  AND duplicate_of IS NULL
		  AND expires_at > clock_timestamp()
		ORDER BY id
		LIMIT $2`, w.AgentID, maxOpen)
	if err != nil {
		return nil, fmt.Errorf("find open requests: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find open requests: %w", err)
	}
	var fresh []string
	open := make(map[string]bool, len(ids))
	for _, id := range ids {
		if open[id] = true; !w.told[id] {
			fresh = append(fresh, id)
		}
	}
	w.told = open
	if len(fresh) == 0 {
		return nil, nil
	}
	return w.events(ctx, fresh)
}

func (w *PendingWatch) events(ctx context.Context, ids []string) ([]session.Event, error) {
	rows, err := w.Queryer.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.id = ANY ($1)
		ORDER BY r.id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read open requests: %w", err)
	}
	requests, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Request])
	if err != nil {
		return nil, fmt.Errorf("read open requests: %w", err)
	}
	events := make([]session.Event, len(requests))
	for i, r := range requests {
		payload, err := json.Marshal(PendingEvent{
			requestedEvent: r.openEvent(), RequesterID: r.RequesterID, RequesterName: r.RequesterName,
			Rule: r.RuleText, Resolutions: r.Settings.Resolutions, TTLMinutes: r.TTLMinutes,
		})
		if err != nil {
			return nil, fmt.Errorf("encode pending event: %w", err)
		}
		events[i] = session.Event{SessionID: r.SessionID, AgentID: r.AgentID, Type: session.ApprovalPending, Payload: payload, CreatedAt: r.CreatedAt}
	}
	return events, nil
}
