package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/audit"
	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/redact"
	"holm/internal/session"
)

// approversStand is the condition that as many people as r needs have approved
// it and may still do so: the operator, or whom approval_stands names. Votes of
// users who were merged since are one person's.
const approversStand = `(
	SELECT count(DISTINCT COALESCE(voter.merged_into, v.approver))
	FROM approval_votes v
	LEFT JOIN users voter ON voter.id = v.approver
	WHERE v.request_id = r.id
	  AND (v.approver = 'admin' OR approval_stands(v.approver, ` + aboutR + `))
	) >= COALESCE((r.settings ->> 'quorum')::integer, 1)`

// grantStands is the condition that the grant g of request r can be used. It
// never holds for the grants of a persistent approval, which have no valid_until:
// their policy rows let calls through.
const grantStands = `(
	g.request_id = r.id
	AND r.status = 'approved'
	AND g.revoked_at IS NULL
	AND g.valid_until > clock_timestamp()
	AND (g.uses_left IS NULL OR g.uses_left > 0)
	AND ` + alwaysStands + `
	AND ` + approversStand + `)`

// ErrRulesChanged says that the agent's rules are others than those by which a call
// was judged: nothing was asked or claimed, and the call is to be judged anew.
var ErrRulesChanged = errors.New("the rules changed while the call was judged")

// Claim takes the approved request r for the one execution that it allows, which is
// of the call c as it would be asked about now: another question, or another
// requester, has no part in the answer. ok is false then, and when somebody else has
// it, when its time has passed or it was revoked. After a claim the call is sent at
// most once, by the claiming process alone.
func (s *Service) Claim(ctx context.Context, r Request, c Call) (claimed Request, ok bool, err error) {
	return s.claim(ctx, r, c, s.Hub.Process())
}

// claim is for whoever executes: a process of Holm, or outsider.
func (s *Service) claim(ctx context.Context, r Request, c Call, by int64) (claimed Request, ok bool, err error) {
	if !c.Answers(r) {
		return Request{}, false, nil
	}
	err = db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		claimed, ok, err = collect(tx.Query(ctx, `
			WITH used AS (
			    UPDATE approval_grants g
			    SET uses = g.uses + 1,
			        uses_left = g.uses_left - 1
			    FROM approval_requests r
			    WHERE r.id = $1
			      AND r.args_digest = $3
			      AND `+livingID("r.requester_id")+` = `+livingID("$4::text")+`
			      AND r.claimed_at IS NULL
			      AND `+rulesHold+`
			      AND `+grantStands+`
			    RETURNING g.request_id
			)
			UPDATE approval_requests r
			SET claimed_at = clock_timestamp(),
			    claimed_by = $2,
			    stopped = NULL,
			    version = r.version + 1
			FROM used
			WHERE r.id = used.request_id
			  AND r.status = 'approved'
			  AND r.claimed_at IS NULL
			RETURNING `+columns, r.ID, by, r.ArgsDigest, c.Session.RequesterID, c.PolicyVersion))
		if err != nil {
			return err
		}
		if !ok {
			return c.whyNotClaimed(ctx, tx)
		}
		err = s.progressed(ctx, tx, &pgx.Batch{}, "call_claimed", claimed)
		crashpoint.Reach(crashpoint.ClaimingCall)
		return err
	})
	if errors.Is(err, errNotMoved) {
		return Request{}, false, nil
	}
	if err != nil {
		return Request{}, false, fmt.Errorf("claim: %w", err)
	}
	crashpoint.Reach(crashpoint.ClaimedCall)
	s.published(claimed)
	return claimed, true, nil
}

// rulesHold is the condition that the call was judged by the rules of r's agent as
// they are; $5 is the version of those.
const rulesHold = `($5::bigint IN (0, (SELECT policy_version FROM agents WHERE id = r.agent_id)))`

// livingID is the id that a user lives on by, or the id that is no user's.
func livingID(id string) string {
	return `COALESCE((SELECT merged_into FROM users WHERE id = ` + id + `), ` + id + `)`
}

// whyNotClaimed tells rules that changed from what else can keep a claim back.
func (c Call) whyNotClaimed(ctx context.Context, tx pgx.Tx) error {
	var version int64
	err := tx.QueryRow(ctx, `SELECT policy_version FROM agents WHERE id = $1`, c.Session.AgentID).Scan(&version)
	switch {
	case err != nil:
		return err
	case c.PolicyVersion != 0 && c.PolicyVersion != version:
		return ErrRulesChanged
	}
	return errNotMoved
}

// errNotMoved rolls back the count of a use that somebody else has taken.
var errNotMoved = errors.New("somebody else was first")

// progressed writes b, the record of a step of r's execution, and updates its cards.
func (s *Service) progressed(ctx context.Context, tx pgx.Tx, b *pgx.Batch, kind string, r Request) error {
	if err := audit.Queue(ctx, b, r.record(kind, r.RequesterID)); err != nil {
		return err
	}
	return s.tell(ctx, tx, b, r)
}

// tell sends b, which has what else a move of r writes, and queues the jobs that
// tell its cards and its requester.
func (s *Service) tell(ctx context.Context, tx pgx.Tx, b *pgx.Batch, r Request) error {
	var jobs []river.InsertManyParams
	queueUpdates(b, r, &jobs)
	if err := db.Send(ctx, tx, b); err != nil {
		return fmt.Errorf("tell of request %d: %w", r.ShortID, err)
	}
	return s.insert(ctx, tx, append(jobs, r.requesterJobs()...))
}

// Finish records what became of a claimed call, with its result for a caller
// that comes back. A verdict of Unknown that a reconciling process gave
// meanwhile is corrected; any other end stays.
func (s *Service) Finish(ctx context.Context, requestID string, outcome Outcome, result []byte) error {
	if len(result) > maxResult {
		result = nil
	}
	var r Request
	var moved bool
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		r, moved, err = collect(tx.Query(ctx, `
			UPDATE approval_requests r
			SET finished_at = clock_timestamp(),
			    outcome = $3,
			    result = $4,
			    version = r.version + 1
			WHERE r.id = $1
			  AND r.claimed_by = $2
			  AND (r.finished_at IS NULL OR r.outcome = 'outcome_unknown')
			RETURNING `+columns, requestID, s.Hub.Process(), outcome, result))
		if err != nil || !moved {
			return err
		}
		err = s.executed(ctx, tx, r, "")
		crashpoint.Reach(crashpoint.FinishingCall)
		return err
	})
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	if !moved {
		return errors.New("finish: the request was not claimed by this process")
	}
	crashpoint.Reach(crashpoint.FinishedCall)
	s.published(r)
	return nil
}

// executed writes what follows from the end of an execution; message, if any, is
// what its caller says of it. All whose asks shared the question hear of it.
func (s *Service) executed(ctx context.Context, tx pgx.Tx, r Request, message string) error {
	duplicates, err := duplicatesOf(ctx, tx, r)
	if err != nil {
		return err
	}
	var b pgx.Batch
	for _, one := range append([]Request{r}, duplicates...) {
		if one.Status != Approved {
			continue
		}
		event := map[string]any{
			"requestId": one.ID, "shortId": one.ShortID, "resourceType": one.ResourceType,
			"resourceKey": one.Resource(), "outcome": *r.Outcome,
		}
		if message != "" {
			event["message"] = message
		}
		if err := session.QueueAppend(&b, one.AgentID, one.SessionID, session.ApprovalExecuted, event); err != nil {
			return err
		}
	}
	return s.progressed(ctx, tx, &b, "call_finished", r)
}

// UseWindow looks for an approval for some time (Once) that covers the call, given
// on the basis that it has now, and counts its use. The very call that was
// asked about claims its request first, so that its card tells of it. While it
// runs, and until an outcome that nobody knows has been told, the same call is a
// retry of it and no new use. The id of the request is given for the record; ok
// is false when there is none.
func (s *Service) UseWindow(ctx context.Context, c Call) (requestID string, ok bool, err error) {
	err = db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		who, err := c.asker(ctx, tx)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
			UPDATE approval_grants
			SET uses = uses + 1
			WHERE id = (
			    SELECT g.id
			    FROM approval_grants g
			    JOIN approval_requests r ON r.id = g.request_id
			    WHERE g.agent_id = $1
			      AND g.requester_id = ANY($2)
			      AND g.resource_type = $3
			      AND g.resource_key = $4
			      AND r.settings ->> 'basisDigest' = $7
			      AND `+rulesHold+`
			      AND (g.args_digest IS NULL OR g.args_digest = ANY($6))
			      AND g.uses_left IS NULL
			      AND (r.claimed_at IS NOT NULL OR r.args_digest <> ALL($6))
			      AND NOT EXISTS (
			          SELECT 1
			          FROM approval_requests same
			          WHERE same.agent_id = $1
			            AND same.requester_id = ANY($2)
			            AND same.args_digest = ANY($6)
			            AND same.claimed_by <> $8
			            AND (same.finished_at IS NULL OR same.outcome = 'outcome_unknown' AND same.told_at IS NULL)
			      )
			      AND `+grantStands+`
			    ORDER BY g.valid_until DESC
			    LIMIT 1
			)
			  AND revoked_at IS NULL -- once more: it may have been revoked while this waited for the row
			RETURNING request_id`,
			c.Session.AgentID, who.ids, c.ResourceType, c.ResourceKey, c.PolicyVersion, who.covered,
			who.basis, outsider).Scan(&requestID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ok = true
		data := map[string]any{"requestId": requestID, "resourceKey": redact.Text(c.ResourceKey), "argsDigest": c.Digest()}
		if c.ByKey != "" {
			data["byKey"] = c.ByKey
		}
		return audit.Write(ctx, tx, audit.Record{Kind: "grant_used", AgentID: c.Session.AgentID, Actor: c.Session.RequesterID, Data: data})
	})
	if err != nil {
		return "", false, fmt.Errorf("use approval: %w", err)
	}
	return requestID, ok, nil
}

// Release gives a claim back whose call was never sent, because its upstream
// did not take it: the approval stands as before. A claim of another process,
// and one that has ended or was given back, stays as it is.
func (s *Service) Release(ctx context.Context, requestID string) error {
	return s.release(ctx, requestID, s.Hub.Process())
}

func (s *Service) release(ctx context.Context, requestID string, by int64) error {
	var r Request
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		given, moved, err := collect(tx.Query(ctx, `
			WITH restored AS (
			    UPDATE approval_grants g
			    SET uses = g.uses - 1,
			        uses_left = g.uses_left + 1
			    FROM approval_requests r
			    WHERE r.id = $1
			      AND g.request_id = r.id
			      AND g.policy_id IS NULL
			      AND r.claimed_by = $2
			      AND r.finished_at IS NULL
			    RETURNING g.request_id
			)
			UPDATE approval_requests r
			SET claimed_at = NULL,
			    claimed_by = NULL,
			    version = r.version + 1
			FROM restored
			WHERE r.id = restored.request_id
			  AND r.claimed_by = $2
			  AND r.finished_at IS NULL
			RETURNING `+columns, requestID, by))
		if err != nil {
			return err
		}
		if !moved {
			return errNotMoved
		}
		r = given
		return s.progressed(ctx, tx, &pgx.Batch{}, "call_released", r)
	})
	if errors.Is(err, errNotMoved) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	s.published(r)
	return nil
}

// CardsBehind tells whether some card of the agent's requests does not show the
// state its request has.
func CardsBehind(ctx context.Context, q db.Queryer, agentID string) (behind bool, err error) {
	err = q.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT 1
		    FROM card_deliveries d
		    JOIN approval_requests r ON r.id = d.request_id
		    WHERE r.agent_id = $1
		      AND d.state IN ('queued', 'sent')
		      AND d.shown_version < r.version
		)`, agentID).Scan(&behind)
	if err != nil {
		return false, fmt.Errorf("look at cards: %w", err)
	}
	return behind, nil
}
