package approvals

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/audit"
	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// Call is a call that a rule wants approved. The caller has made sure of the
// principal; nothing here comes from the requester but the arguments.
type Call struct {
	// Outside tells that the caller runs the call itself. An answer to such a
	// question is none to the same call made through Holm.
	Outside       bool
	Session       session.Session
	RequesterName string
	// ByKey is the prefix of the agent's own key where a program asks with it on
	// behalf of the requester; empty where the requester asks.
	ByKey        string
	ResourceType string
	ResourceKey  string
	Args         policy.Args
	// Claim is what the agent says of the call, in its own words. Where it is empty and
	// Spoke is set, its last message in the session stands for it, if that is recent.
	Claim string
	Spoke bool
	// Rule is the require_approval row that decided. Where several rows want the
	// call approved, one request stands for all: its ID names them all, and its
	// Scope.Approval has their strictest settings.
	Rule policy.Row
	// Basis is what the question stands on.
	Basis Basis
	// PolicyVersion is that of the rules by which the call was judged: nothing is
	// asked, used or claimed by rules that hold no more. 0 is not compared.
	PolicyVersion int64
	// Why says in words which rules asked; empty means Rule alone.
	Why string
	// Opens are what a persistent approval of any arguments opens; empty means the
	// resource, for Rule.
	Opens []Opening
	// Realtime is how long the requester is asked in their own session before the
	// owners are; 0 for not at all. The caller has made sure that they may decide.
	Realtime time.Duration
}

// Opening is what a persistent approval allows in answer to one rule.
type Opening struct {
	ResourceType string       `json:"resourceType"`
	ResourceKey  string       `json:"resourceKey"`
	Scope        policy.Scope `json:"scope"`
}

// openings are Opens, or what stands for none.
func (c Call) openings() []Opening {
	if len(c.Opens) > 0 {
		return c.Opens
	}
	return []Opening{{c.ResourceType, c.ResourceKey, policy.Scope{Approves: c.Rule.ID, Definition: MadeDigest(c.Basis.Made)}}}
}

// Digest binds an approval to this very question: agent, requester, resource, the
// basis and the canonical arguments; and to the session, where a program asks on
// behalf of the requester: what one conversation was granted is nothing to another.
func (c Call) Digest() string {
	return c.digestFor(c.basisDigest(settingsOf(c)), c.Session.RequesterID, c.ByKey != "")
}

// digestFor is the digest of the same call by another requester, and bound to the
// session or not.
func (c Call) digestFor(basis, requesterID string, inSession bool) string {
	kind := "holm call v2"
	if c.Outside {
		kind = "holm outside call v2"
	}
	parts := []any{kind, c.Session.AgentID, requesterID, c.ResourceType, c.ResourceKey, basis}
	if inSession {
		parts = append(parts, c.Session.ID)
	}
	sum := sha256.New()
	sum.Write([]byte(digestOf(parts)))
	sum.Write([]byte(policy.ArgsDigest(c.Args)))
	return hex.EncodeToString(sum.Sum(nil))
}

// Answers tells whether r is the very question that the call would be put as now,
// by whichever of their ids the requester asked.
func (c Call) Answers(r Request) bool {
	return r.ArgsDigest == c.digestFor(c.basisDigest(settingsOf(c)), r.RequesterID, c.ByKey != "")
}

// asker is who makes a call: every id that the person has had, and the digest of
// the call under each, so that a retry after a merge finds what was asked before.
type asker struct {
	ids, digests []string
	// covered are the digests that an approval for some time may have: the
	// requester's own approvals hold for what is done on their behalf too.
	covered []string
	basis   string
}

func (c Call) asker(ctx context.Context, q db.Queryer) (asker, error) {
	ids, err := identity.PersonIDs(ctx, q, c.Session.RequesterID)
	return c.askerOf(ids), err
}

func (c Call) askerOf(ids []string) asker {
	a := asker{ids: ids, basis: c.basisDigest(settingsOf(c))}
	for _, id := range ids {
		digest := c.digestFor(a.basis, id, c.ByKey != "")
		a.digests = append(a.digests, digest)
		a.covered = append(a.covered, digest, c.digestFor(a.basis, id, false))
	}
	return a
}

// ruleText says why the call is asked about: what changed since it was approved or
// asked about, and what the rules that asked say of themselves, or who made them.
// Neither repeats what the call is about.
func (c Call) ruleText(changed string) string {
	text := c.Why
	if text == "" {
		text = WhyOf(c.Rule.Note, c.Rule.Maker)
	}
	if changed != "" {
		text = changed + "; " + text
	}
	return text
}

// WhyOf is what a rule that asks says of itself.
func WhyOf(note, maker string) string {
	switch {
	case strings.TrimSpace(note) != "":
		return strings.TrimSpace(note)
	case maker != "":
		return "a rule of " + maker
	}
	return "a rule asks for it"
}

// Ask gives the request that stands for the call. A call that was asked for
// before attaches to its request while that can still tell the caller
// something: an open question, an approval to claim, a call that runs or ran,
// a recent rejection, an end the caller has not been told. Asked from another
// session while the question is open, it becomes a duplicate: a request of its
// own that shares the question's card, answer and execution. Otherwise a new
// question is put, with its event, audit record, cards and jobs. More open
// requests than the caps allow are Exhausted, with code "capped".
func (s *Service) Ask(ctx context.Context, c Call) (Request, error) {
	var r Request
	var changed []Request
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		changed = nil
		for done := false; !done; {
			r, done, err = s.attach(ctx, tx, c, &changed)
			if err != nil {
				return err
			}
		}
		crashpoint.Reach(crashpoint.Asking)
		return nil
	})
	if fault.Is(err, codeCapped) {
		return Request{}, errors.Join(err, s.recordCapped(ctx, c, err))
	}
	if err != nil {
		return Request{}, err
	}
	crashpoint.Reach(crashpoint.Asked)
	for _, one := range changed {
		s.published(one)
	}
	return r, nil
}

// attach finds or makes the request that stands for the call. done is false when
// somebody answered the question in the moment in which it was to be shared.
func (s *Service) attach(ctx context.Context, tx pgx.Tx, c Call, changed *[]Request) (r Request, done bool, err error) {
	now, err := c.look(ctx, tx)
	if err != nil {
		return Request{}, false, err
	}
	if now.known && now.latest.Overdue() {
		ended, expired, err := s.expire(ctx, tx, now.latest.ID)
		if err != nil {
			return Request{}, false, err
		}
		if expired {
			now.latest = ended
			*changed = append(*changed, ended)
		}
	}
	if now.known && now.latest.SessionID != c.Session.ID {
		own, shared, err := s.share(ctx, tx, c, now)
		switch {
		case err != nil:
			return Request{}, false, err
		case shared == told: // and asks anew
			now.known = false
		case shared == missed:
			return Request{}, false, nil
		case shared != foreign:
			if shared == joined {
				*changed = append(*changed, own)
			}
			return own, true, nil
		}
	}
	if now.known && now.latest.answers() {
		return now.latest, true, nil
	}
	r, err = s.create(ctx, tx, c, now, nil)
	if err != nil {
		return Request{}, false, err
	}
	ended, err := s.supersede(ctx, tx, now.stale, r)
	*changed = append(append(*changed, r), ended...)
	return r, true, err
}

// situation is how things stand when a call is asked for.
type situation struct {
	// latest is the newest question for the same call, where one is known. An
	// approval that cannot be claimed any more is none.
	latest Request
	known  bool
	open   open
	// stale are earlier questions about the call that were put on another basis, and
	// approvals that would cover it but for theirs; the newest first.
	stale []Request
	// inSession tells that the caller's session is stored.
	inSession bool
}

// look takes the caller's turn and reads the situation, in one round trip for
// everybody who was never merged with somebody else.
func (c Call) look(ctx context.Context, tx pgx.Tx) (situation, error) {
	for who := c.askerOf([]string{c.Session.RequesterID}); ; {
		var b pgx.Batch
		var now situation
		var ids []string
		var earlier []earlierCall
		queueTurn(&b, c)
		identity.QueuePersonIDs(&b, c.Session.RequesterID, &ids)
		session.QueueStands(&b, c.Session, &now.inSession)
		for i, id := range who.ids {
			queueLatest(&b, c.Session.AgentID, id, who.digests[i], &earlier)
			queueOpen(&b, c.Session, id, &now.open)
			queueStale(&b, c, id, who.basis, &now.stale)
		}
		if err := db.Send(ctx, tx, &b); err != nil {
			return situation{}, fmt.Errorf("look for earlier requests: %w", err)
		}
		if !slices.Equal(ids, who.ids) {
			who = c.askerOf(ids)
			continue
		}
		if c.PolicyVersion != 0 && c.PolicyVersion != now.open.policyVersion {
			return situation{}, ErrRulesChanged
		}
		if len(earlier) > 0 {
			newest := slices.MaxFunc(earlier, earlierCall.compare)
			now.latest, now.known = newest.Request, newest.Answers
		}
		return now, nil
	}
}

// earlierCall is a question for the same call. Answers is false for an approval
// that cannot be claimed any more.
type earlierCall struct {
	Request
	Answers bool
}

func (e earlierCall) compare(o earlierCall) int {
	return cmp.Or(e.CreatedAt.Compare(o.CreatedAt), cmp.Compare(e.ID, o.ID))
}

// queueTurn has the asks of one person with one agent take turns until their
// transactions end, so that identical ones share one question and all are counted.
// What the batch b reads after it sees those before.
func queueTurn(b *pgx.Batch, c Call) {
	b.Queue(`
		SELECT pg_advisory_xact_lock(hashtextextended(
		    concat_ws(' ', 'asks', $1::text, COALESCE((SELECT merged_into FROM users WHERE id = $2), $2)), 0))`,
		c.Session.AgentID, c.Session.RequesterID)
}

// queueLatest has the batch b find the newest question for a call of somebody with
// this id. Whether an approval can still be claimed is judged in the statement that
// reads it, since another caller may claim it at any moment.
func queueLatest(b *pgx.Batch, agentID, requesterID, digest string, list *[]earlierCall) {
	b.Queue(`
		WITH r AS (
		    SELECT *
		    FROM approval_requests
		    WHERE agent_id = $1
		      AND requester_id = $2
		      AND args_digest = $3
		      AND duplicate_of IS NULL
		    ORDER BY created_at DESC, id DESC
		    LIMIT 1
		)
		SELECT `+columns+`,
		       r.status <> 'approved'
		       OR r.claimed_at IS NOT NULL
		       OR EXISTS (SELECT 1 FROM approval_grants g WHERE `+grantStands+`)
		FROM r`, agentID, requesterID, digest).
		Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[earlierCall])
			*list = append(*list, found...)
			return err
		})
}

// answers tells whether r still is the answer to an identical call, by the clock
// of the database that read it.
func (r Request) answers() bool {
	switch r.Status {
	case Pending:
		return true
	case Rejected:
		return r.ToldAt == nil || r.ReadAt.Sub(*r.ResolvedAt) < rejectionHolds
	case Expired, Cancelled:
		return r.ToldAt == nil && !r.Superseded()
	}
	switch {
	case r.ClaimedAt == nil:
		return true
	case r.Outside():
		return false
	case r.FinishedAt == nil:
		return true
	case *r.Outcome == Unknown:
		return r.ToldAt == nil
	default:
		return *r.Resolution == policy.Single && r.ReadAt.Before(r.ValidUntil())
	}
}

// create stores a new request: a question, or a duplicate of one.
func (s *Service) create(ctx context.Context, tx pgx.Tx, c Call, now situation, of *Request) (Request, error) {
	if !now.inSession {
		if err := session.Ensure(ctx, tx, c.Session); err != nil {
			return Request{}, err
		}
	}
	if replaces := of == nil && slices.ContainsFunc(now.stale, func(r Request) bool { return r.Status == Pending && c.same(r) }); !replaces {
		if err := s.withinCaps(c, now.open); err != nil {
			return Request{}, err
		}
	}
	settings := c.settings(now.stale)
	stored, err := json.Marshal(settings)
	if err != nil {
		return Request{}, fmt.Errorf("encode settings: %w", err)
	}
	raw := c.Args.Raw()
	if raw == nil {
		raw = []byte("{}")
	}
	var question *string
	if of != nil {
		question = &of.ID
	}
	var b pgx.Batch
	var r Request
	var reviewers []reviewer
	id, mode := uuid.Must(uuid.NewV7()).String(), c.mode(question)
	b.Queue(`
		INSERT INTO approval_requests AS r
		    (id, agent_id, short_id, session_id, requester_id, requester_name, resource_type, resource_key,
		     args_bytes, args_digest, args_sha256, rule_id, rule_text, settings, ttl_minutes, duplicate_of,
		     expires_at, undelivered_at, mode, by_key, claim)
		SELECT $1, $2, nextval(format('approval_numbers.%I', md5($2))::regclass), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, q.id,
		       COALESCE(q.expires_at, now() + $15), q.undelivered_at, $17, $18,
		       left(COALESCE(NULLIF($19, ''), (
		           SELECT e.payload ->> 'text'
		           FROM session_events e
		           WHERE $20
		             AND e.session_id = $3
		             AND e.type = 'agent_message'
		             AND e.created_at > now() - interval '10 minutes'
		           ORDER BY e.id DESC
		           LIMIT 1), ''), 1000)
		FROM (SELECT) one
		LEFT JOIN approval_requests q ON q.id = $16
		RETURNING `+columns,
		id, c.Session.AgentID, c.Session.ID, c.Session.RequesterID, c.RequesterName,
		c.ResourceType, c.ResourceKey, raw, c.Digest(), policy.ArgsDigest(c.Args),
		c.Rule.ID, c.ruleText(settings.Changed), stored, int(c.Rule.Scope.Approval.TTL().Minutes()), c.Rule.Scope.Approval.Deadline(), question, mode, c.ByKey, c.Claim, c.Spoke).
		Query(func(rows pgx.Rows) (err error) {
			r, _, err = collect(rows, nil)
			return err
		})
	if question == nil && mode == Async {
		queueReviewers(&b, id, settings, &reviewers)
	}
	if err := db.Send(ctx, tx, &b); err != nil {
		return Request{}, fmt.Errorf("store approval request: %w", err)
	}
	return r, s.announce(ctx, tx, r, reviewers, c.Realtime)
}

// mode is that of the question; a duplicate waits for the first one's answer.
func (c Call) mode(question *string) string {
	if c.Realtime > 0 && question == nil {
		return Realtime
	}
	return Async
}

// announce writes what follows from a new request. A duplicate has no card and
// no deadline of its own.
func (s *Service) announce(ctx context.Context, tx pgx.Tx, r Request, reviewers []reviewer, realtime time.Duration) error {
	var b pgx.Batch
	var jobs []river.InsertManyParams
	err := errors.Join(
		session.QueueAppend(&b, r.AgentID, r.SessionID, session.ApprovalRequested, r.requestedEvent()),
		audit.Queue(ctx, &b, r.record("approval_requested", r.RequesterID)))
	if r.DuplicateOf != nil && r.UndeliveredAt != nil { // as its question is already
		err = errors.Join(err, r.queueReach(&b, session.ApprovalUndelivered))
	}
	if err != nil {
		return err
	}
	queueCards(&b, r, reviewers, &jobs)
	if err := db.Send(ctx, tx, &b); err != nil {
		return fmt.Errorf("announce approval request: %w", err)
	}
	if r.DuplicateOf != nil {
		return nil
	}
	if r.Mode == Realtime {
		jobs = append(jobs, river.InsertManyParams{
			Args: EndRealtimeArgs{RequestID: r.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: r.CreatedAt.Add(realtime)},
		})
	}
	return s.insert(ctx, tx, slices.Concat(jobs, []river.InsertManyParams{expireJob(r), undeliveredJob(r)}, remindJobs(r), escalateJobs(r)))
}

type requestedEvent struct {
	RequestID    string `json:"requestId"`
	ShortID      int    `json:"shortId"`
	ResourceType string `json:"resourceType"`
	ResourceKey  string `json:"resourceKey"`
	// Args are absent where they are longer than maxEventArgs; ArgsSize tells.
	Args        json.RawMessage `json:"args,omitempty"`
	ArgsSize    int             `json:"argsSize"`
	Mode        string          `json:"mode"`
	ExpiresAt   time.Time       `json:"expiresAt"`
	DuplicateOf *string         `json:"duplicateOf,omitempty"`
}

// maxEventArgs is the longest that an event repeats of a request: the request
// itself shows all.
const maxEventArgs = 16 << 10

func (r Request) requestedEvent() requestedEvent {
	var args json.RawMessage
	if len(r.ArgsBytes) <= maxEventArgs {
		args = r.Shown()
	}
	return requestedEvent{
		RequestID: r.ID, ShortID: r.ShortID, ResourceType: r.ResourceType, ResourceKey: r.Resource(),
		Args: args, ArgsSize: len(r.ArgsBytes), Mode: r.Mode, ExpiresAt: r.ExpiresAt, DuplicateOf: r.DuplicateOf,
	}
}

// audit records a move of r. Arguments are named by their digest.
func (s *Service) audit(ctx context.Context, tx pgx.Tx, kind, actor string, r Request) error {
	return audit.Write(ctx, tx, r.record(kind, actor))
}

func (r Request) record(kind, actor string) audit.Record {
	data := map[string]any{
		"requestId": r.ID, "shortId": r.ShortID, "sessionId": r.SessionID, "requesterId": r.RequesterID,
		"resourceType": r.ResourceType, "resourceKey": r.Resource(), "argsDigest": r.ArgsDigest,
		"ruleId": r.RuleID, "ruleVersion": r.Settings.RuleVersion, "status": r.Status,
		"resolution": r.Resolution, "via": r.ResolvedVia, "outcome": r.Outcome, "duplicateOf": r.DuplicateOf,
	}
	if r.TryDifferently {
		data["tryDifferently"] = true
	}
	if r.ByKey != "" {
		data["byKey"] = r.ByKey
	}
	if r.Stopped != nil {
		data["stopped"] = *r.Stopped
	}
	if r.ClaimedAt != nil && r.FinishedAt != nil {
		data["ms"] = r.FinishedAt.Sub(*r.ClaimedAt).Milliseconds()
	}
	return audit.Record{Kind: kind, AgentID: r.AgentID, Actor: actor, Data: data}
}

// Told notes that the caller has been given the end of a request, so that the
// next identical call may be a new question. Before the end it does nothing.
func (s *Service) Told(ctx context.Context, requestID string) error {
	_, err := s.Pool.Exec(ctx, `
		UPDATE approval_requests
		SET told_at = now()
		WHERE id = $1
		  AND told_at IS NULL
		  AND (status IN ('rejected', 'expired', 'cancelled') OR finished_at IS NOT NULL)`, requestID)
	if err != nil {
		return fmt.Errorf("note that the requester was told: %w", err)
	}
	return nil
}
