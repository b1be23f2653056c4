package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/redact"
	"holm/internal/session"
)

// codeCapped marks the refusal of a question beyond the caps.
const codeCapped = "capped"

// IsCapped tells whether no question was put because too many wait already, or
// were put within a minute.
func IsCapped(err error) bool { return fault.Is(err, codeCapped) }

const scopeMinute = "minute"

// IsTooFast tells whether it was for those of the last minute.
func IsTooFast(err error) bool {
	f, ok := fault.As(err)
	if !ok || f.Code != codeCapped {
		return false
	}
	data, _ := f.Data.(map[string]any)
	return data["scope"] == scopeMinute
}

// open counts the requests that wait for an answer, and all of the last minute.
// policyVersion is the agent's, read with them.
type open struct {
	ofSession, ofRequester, lately int
	policyVersion                  int64
}

// queueOpen has the batch b count those of an id of the caller, and adds them.
func queueOpen(b *pgx.Batch, in session.Session, requesterID string, o *open) {
	b.Queue(`
		SELECT count(*) FILTER (WHERE session_id = $3), count(*), (
		    SELECT count(*)
		    FROM approval_requests
		    WHERE agent_id = $1
		      AND requester_id = $2
		      AND created_at > clock_timestamp() - interval '1 minute'
		), COALESCE((SELECT policy_version FROM agents WHERE id = $1), 0)
		FROM approval_requests
		WHERE agent_id = $1
		  AND requester_id = $2
		  AND status = 'pending'
		  AND clock_timestamp() < expires_at`, in.AgentID, requesterID, in.ID).
		QueryRow(func(row pgx.Row) error {
			var ofSession, ofRequester, lately int
			err := row.Scan(&ofSession, &ofRequester, &lately, &o.policyVersion)
			o.ofSession, o.ofRequester, o.lately = o.ofSession+ofSession, o.ofRequester+ofRequester, o.lately+lately
			return err
		})
}

// withinCaps refuses one more open request of a session or requester that has as
// many as one may have.
func (s *Service) withinCaps(c Call, o open) error {
	switch {
	case o.ofSession >= s.MaxOpenPerSession:
		return capped("this session", "session", o.ofSession, s.MaxOpenPerSession)
	case o.ofRequester >= s.MaxOpenPerRequester:
		return capped(c.RequesterName, "requester", o.ofRequester, s.MaxOpenPerRequester)
	case o.lately >= s.MaxAsksPerMinute:
		return &fault.Error{Kind: fault.Exhausted, Code: codeCapped, Data: map[string]any{"scope": scopeMinute, "asked": o.lately, "max": s.MaxAsksPerMinute},
			Message: fmt.Sprintf("%s has put %d questions within a minute, and at most %d may be put; no further one was", c.RequesterName, o.lately, s.MaxAsksPerMinute)}
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
			"sessionId": c.Session.ID, "requesterId": c.Session.RequesterID, "resourceType": c.ResourceType, "resourceKey": redact.Text(c.ResourceKey),
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
