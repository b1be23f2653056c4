package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/redact"
	"holm/policy"
)

// Request is one question to the owners of an agent, as its row stores it.
type Request struct {
	ID            string
	AgentID       string
	ShortID       int
	SessionID     string
	RequesterID   string
	RequesterName string
	ResourceType  string
	ResourceKey   string
	Scope         json.RawMessage
	// ArgsBytes are what runs; people are shown Shown.
	ArgsBytes  []byte
	ArgsDigest string
	ArgsSHA256 string
	RuleID     string
	RuleText   string
	Settings   Settings
	Mode       string
	Status     Status
	Resolution *policy.Resolution
	// Extent is how much a persistent approval opened.
	Extent       *Extent
	ResolvedBy   *string
	ResolvedName *string
	ResolvedVia  *string
	Reason       *string
	TTLMinutes   int
	// DuplicateOf is the question that this one shares; nil for a question itself.
	DuplicateOf *string
	Version     int
	CreatedAt   time.Time
	ExpiresAt   time.Time
	ResolvedAt  *time.Time
	ClaimedAt   *time.Time
	ClaimedBy   *int64
	FinishedAt  *time.Time
	Outcome     *Outcome
	Result      []byte
	ToldAt      *time.Time
	// Hold is read through Held.
	Hold *Hold
	// EscalatedAt is since when the rule's further people may decide.
	EscalatedAt *time.Time
	// Reminders is how often its reviewers were reminded.
	Reminders int
	// Asked is how many asks share the card of the question.
	Asked int
	// UndeliveredAt is since when nobody who may answer could be reached.
	UndeliveredAt *time.Time
	// TryDifferently is a rejection that invites another proposal.
	TryDifferently bool
	// ByKey is the key with which a program asked on behalf of the requester; empty
	// where the requester asked.
	ByKey string
	// Stopped is why what was approved lets no call through any more, or did not when
	// the call came for it; of a cancelled request, that the call was asked anew.
	Stopped *string
	// Claim is what the agent says of its call; nobody has checked that.
	Claim string
	// ReadAt is when the row was read, by the database's clock.
	ReadAt time.Time
	// Votes are the approvals so far, where they were asked for with Votes.
	Votes []Vote `db:"-"`
	// Revoked is when what was approved was taken back, where it was asked for with
	// RevocationOf; nil while it was not.
	Revoked *Revocation `db:"-"`
}

// Settings are those of the rule that asked, fixed when it asked.
type Settings struct {
	Resolutions []policy.Resolution `json:"resolutions"`
	Binding     policy.Binding      `json:"binding"`
	Risk        policy.Risk         `json:"risk,omitempty"`
	RuleVersion int                 `json:"ruleVersion"`
	// Opens are what a persistent approval of any arguments opens.
	Opens []Opening `json:"opens"`
	// Quorum is how many different people must approve; 0 is one.
	Quorum int `json:"quorum,omitempty"`
	// Panels are who may decide: people whom each panel names; none means the owners.
	Panels               []policy.Panel `json:"panels,omitempty"`
	RequireReason        bool           `json:"requireReason,omitempty"`
	RemindAfterMinutes   int            `json:"remindAfterMinutes,omitempty"`
	EscalateAfterMinutes int            `json:"escalateAfterMinutes,omitempty"`
	// Outside tells that the caller was to run the call itself.
	Outside bool `json:"outside,omitempty"`
	Basis
	// BasisDigest covers the basis, and the settings above.
	BasisDigest string `json:"basisDigest"`
	// Changed says what came between this question and an earlier one about the call,
	// or an approval that covered it; empty for nothing.
	Changed string `json:"changed,omitempty"`
}

// settingsOf fixes what a rule says when it asks.
func settingsOf(c Call) Settings {
	a := c.Rule.Scope.Approval
	s := Settings{
		Resolutions: a.Offered(), Binding: a.BoundTo(), RuleVersion: c.Rule.Version, Opens: c.openings(),
		Quorum: a.Needed(), RemindAfterMinutes: int(a.RemindAfter().Minutes()), EscalateAfterMinutes: int(a.EscalateAfter().Minutes()),
	}
	if a != nil {
		s.Risk, s.RequireReason, s.Panels = a.Risk, a.RequireReason, a.Panels()
	}
	s.Outside, s.Basis = c.Outside, Basis{Rules: c.rules(), Made: c.Basis.Made}
	return s
}

// settings are settingsOf with the digest of the basis, and what changed since the
// newest of the earlier questions.
func (c Call) settings(stale []Request) Settings {
	s := settingsOf(c)
	s.BasisDigest = c.basisDigest(s)
	for _, before := range stale {
		if s.Changed = changedSince(before, s, c.same(before)); s.Changed != "" {
			break
		}
	}
	return s
}

// Needed is how many different people must approve.
func (s Settings) Needed() int { return max(s.Quorum, 1) }

// byOwners tells whether the owners decide, and nobody else.
func (s Settings) byOwners() bool {
	return !slices.ContainsFunc(s.Panels, func(p policy.Panel) bool {
		return len(p.EscalateTo) > 0 || !slices.Equal(p.Approvers, []policy.Grant{policy.ToRole(policy.Owner)})
	})
}

// Executing tells whether the call was claimed and has not ended yet.
func (r Request) Executing() bool { return r.ClaimedAt != nil && r.FinishedAt == nil }

// Unclaimed tells whether an approval waits for its call.
func (r Request) Unclaimed() bool { return r.Status == Approved && r.ClaimedAt == nil }

// Superseded tells whether r was open when its call was asked anew on another
// basis: who waits for it asks again.
func (r Request) Superseded() bool { return r.Status == Cancelled && r.Stopped != nil }

// Question is the id of the question that r belongs to, its own or the one it
// duplicates: that one has the card, the answer and the execution.
func (r Request) Question() string {
	if r.DuplicateOf != nil {
		return *r.DuplicateOf
	}
	return r.ID
}

// Resource is the key of what r is about as people and logs are shown it: that of a
// command is the command, which may hold secrets.
func (r Request) Resource() string { return redact.Text(r.ResourceKey) }

// Overdue tells whether nobody may answer any more, though the job that ends the
// question has not run yet.
func (r Request) Overdue() bool { return r.Status == Pending && !r.ReadAt.Before(r.ExpiresAt) }

// ValidUntil is when the answer stops being good for the waiting call.
func (r Request) ValidUntil() time.Time {
	if r.ResolvedAt == nil {
		return time.Time{}
	}
	return r.ResolvedAt.Add(time.Duration(r.TTLMinutes) * time.Minute)
}

// Shown are the arguments without their secrets.
func (r Request) Shown() json.RawMessage { return redact.JSON(r.ArgsBytes) }

const columns = `
	r.id, r.agent_id, r.short_id, r.session_id, r.requester_id, r.requester_name,
	r.resource_type, r.resource_key, r.scope, r.args_bytes, r.args_digest, r.args_sha256,
	r.rule_id, r.rule_text, r.settings, r.mode, r.status, r.resolution, r.extent, r.resolved_by,
	r.resolved_name, r.resolved_via, r.reason, r.ttl_minutes, r.duplicate_of, r.version,
	r.created_at, r.expires_at, r.resolved_at, r.claimed_at, r.claimed_by, r.finished_at,
	r.outcome, r.result, r.told_at, r.hold, r.escalated_at, r.reminders, r.asked, r.undelivered_at, r.try_differently, r.by_key, r.stopped, r.claim,
	clock_timestamp()`

// collect reads exactly one request; ok is false when there is none.
func collect(rows pgx.Rows, queryErr error) (r Request, ok bool, err error) {
	if queryErr != nil {
		return Request{}, false, queryErr
	}
	r, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Request])
	if errors.Is(err, pgx.ErrNoRows) {
		return Request{}, false, nil
	}
	return r, err == nil, err
}

// Get reads a request of an agent. One of another agent looks unknown.
func Get(ctx context.Context, q db.Queryer, agentID, id string) (Request, error) {
	r, ok, err := collect(q.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.id = $1
		  AND r.agent_id = $2`, id, agentID))
	return found(r, ok, err, id)
}

// GetShort reads a request by the number people type, however large it is.
func GetShort(ctx context.Context, q db.Queryer, agentID string, shortID int) (Request, error) {
	r, ok, err := collect(q.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.short_id = $1::bigint
		  AND r.agent_id = $2`, shortID, agentID))
	return found(r, ok, err, fmt.Sprint(shortID))
}

// questionOf is the id of the question that an answer to request $1 is about.
const questionOf = `(
	SELECT CASE WHEN named.status = 'pending' THEN COALESCE(named.duplicate_of, named.id) ELSE named.id END
	FROM approval_requests named
	WHERE named.id = $1)`

// Lookup reads a request of any agent: for workers, never for callers.
func Lookup(ctx context.Context, q db.Queryer, id string) (Request, error) {
	r, ok, err := collect(q.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.id = $1`, id))
	return found(r, ok, err, id)
}

func found(r Request, ok bool, err error, name string) (Request, error) {
	if err != nil {
		return Request{}, fmt.Errorf("read approval request: %w", err)
	}
	if !ok {
		return Request{}, fault.NotFoundf("no approval request %q", name)
	}
	return r, nil
}

// Filter narrows List; empty fields do not.
type Filter struct {
	Status Status
	// RequesterID means the whole person, by any id of before or after a merge.
	RequesterID string
	// ReviewerID limits to what this user may decide now.
	ReviewerID string
	// SeenBy limits to what this user asked for or may decide now; the agent itself
	// by the id that it asks with, to what it asked for itself or on behalf of people.
	SeenBy string
	// Duplicates lists also those that share another request's question; else that
	// one stands for them, and its Asked counts them.
	Duplicates bool
	// Before continues a listing: the id of the last request of the page before.
	Before string
	// Limit is 1 to 200; default 50.
	Limit int
}

// listedFor is the condition that a person, by all their ids, may decide r. Who
// owns nothing decides only where a rule says who does, which spares them a look
// at all requests there ever were.
func listedFor(person, ids string) string {
	return `(r.settings ? 'panels' OR EXISTS (
		    SELECT FROM agent_members m WHERE m.agent_id = $1 AND m.user_id = ANY(` + ids + `) AND m.role = 'owner'))
		AND approval_stands(` + person + `, ` + aboutR + `)`
}

// List gives an agent's requests, the newest first.
func List(ctx context.Context, q db.Queryer, agentID string, f Filter) ([]Request, error) {
	if f.Limit <= 0 || f.Limit > 200 {
		f.Limit = 50
	}
	asked, err := identity.PersonIDs(ctx, q, f.RequesterID)
	if err != nil {
		return nil, err
	}
	seer, err := identity.PersonIDs(ctx, q, f.SeenBy)
	if err != nil {
		return nil, err
	}
	reviewer, err := identity.PersonIDs(ctx, q, f.ReviewerID)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, `
		SELECT `+columns+`
		FROM approval_requests r
		WHERE r.agent_id = $1
		  AND ($2 = '' OR r.status = $2)
		  AND ($3 = '' OR r.requester_id = ANY($6))
		  AND ($4 = '' OR r.id < $4)
		  AND ($7 = '' OR `+listedFor("$7", "$11")+`)
		  AND ($8 = '' OR r.requester_id = ANY($9) OR r.by_key <> '' AND $8 = 'agent:' || r.agent_id OR `+listedFor("$8", "$9")+`)
		  AND ($2 <> 'pending' OR r.expires_at > clock_timestamp())
		  AND ($10 OR r.duplicate_of IS NULL)
		ORDER BY r.id DESC
		LIMIT $5`, agentID, string(f.Status), f.RequesterID, f.Before, f.Limit, asked, f.ReviewerID, f.SeenBy, seer, f.Duplicates, reviewer)
	if err != nil {
		return nil, fmt.Errorf("list approval requests: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Request])
}
