package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
)

// codeCapped marks the refusal of a question beyond the caps.
const codeCapped = "capped"

// IsCapped tells whether no question was put because too many wait already.
func IsCapped(err error) bool { return fault.Is(err, codeCapped) }

// withinCaps refuses one more open request of a session or requester that has as
// many as one may have. The asks of one person with one agent take turns, so that
// those at the same time are counted one after the other; the count is a
// statement of its own, so that it sees those before.
func (s *Service) withinCaps(ctx context.Context, tx pgx.Tx, c Call, who asker) error {
	var b pgx.Batch
	var session, requester int
	b.Queue(`SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'open requests', $1::text, $2::text), 0))`,
		c.Session.AgentID, who.ids[0])
	b.Queue(`
		SELECT count(*) FILTER (WHERE session_id = $3), count(*)
		FROM approval_requests
		WHERE agent_id = $1
		  AND requester_id = ANY ($2)
		  AND status = 'pending'
		  AND clock_timestamp() < expires_at`, c.Session.AgentID, who.ids, c.Session.ID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&session, &requester) })
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("count open requests: %w", err)
	}
	switch {
	case session >= s.MaxOpenPerSession:
		return capped("this session", "session", session, s.MaxOpenPerSession)
	case requester >= s.MaxOpenPerRequester:
		return capped(c.RequesterName, "requester", requester, s.MaxOpenPerRequester)
	}
	return nil
}

func capped(who, scope string, open, most int) error {
	return &fault.Error{Kind: fault.Exhausted, Code: codeCapped, Data: map[string]any{"scope": scope, "open": open, "max": most},
		Message: fmt.Sprintf("%s has %d open requests for approval, and at most %d may be open; no further one was made", who, open, most)}
}

// recordCapped writes the record of a question that was not put.
func (s *Service) recordCapped(ctx context.Context, c Call, why error) error {
	known, _ := fault.As(why)
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		data := map[string]any{
			"sessionId": c.Session.ID, "requesterId": c.Session.RequesterID, "resourceType": c.ResourceType, "resourceKey": c.ResourceKey,
			"argsDigest": c.Digest(), "ruleId": c.Rule.ID, "ruleVersion": c.Rule.Version, "limit": known.Data,
		}
		if c.ByKey != "" {
			data["byKey"] = c.ByKey
		}
		return audit.Write(ctx, tx, audit.Record{Kind: "approval_capped", AgentID: c.Session.AgentID, Actor: c.Session.RequesterID, Data: data})
	})
	if err == nil {
		s.Hub.Publish(audit.QueuedKey)
	}
	return err
}
