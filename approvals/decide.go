package approvals

import (
	"cmp"
	"context"
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
	"holm/internal/session"
	"holm/internal/stamp"
	"holm/policy"
	"holm/policy/rulestore"
)

// Actor is who decides, proven by the surface that the decision came through:
// a platform's verified tap, a token, the operator's own credential.
type Actor struct {
	// UserID is the acting user, or for a call of an agent's own key the id that
	// it asks with; empty for the operator.
	UserID string
	// Admin is the operator's admin token.
	Admin bool
	// Name is for people; Via is the surface: telegram, slack, console, cli, api.
	Name, Via string
}

// ID is how rows and records name the actor.
func (a Actor) ID() string {
	if a.Admin {
		return "admin"
	}
	return a.UserID
}

// Extent is how much a persistent approval opens.
type Extent string

const (
	// WholeTool allows any arguments; the default.
	WholeTool Extent = "tool"
	// TheseArguments allows exactly the arguments that were asked about.
	TheseArguments Extent = "arguments"
)

// Decision is an answer to a request.
type Decision struct {
	AgentID   string
	RequestID string
	Approve   bool
	// Resolution of an approval; default Once. It must be one the rule offers.
	Resolution policy.Resolution
	// Extent of a persistent approval; default WholeTool.
	Extent Extent
	// Reason reaches the requester; at most 1000 characters.
	Reason string
	// TryDifferently makes a rejection invite another proposal; it is Invalid with
	// an approval.
	TryDifferently bool
	Actor          Actor

	// held makes the decision depend on the actor's hold for this action.
	held Action
}

const maxReason = 1000

// DefaultRule is the rule id of requests that no row but the agent's default
// decision asked for.
const DefaultRule = "default"

// Decide answers a pending request. A rejection ends it, and so does the approval
// that completes the rule's quorum; an approval before that is a vote, and the
// request stays Pending. Where votes differ, the narrowest holds.
//
// Of any number of decisions one moves the request, and later ones are a Conflict
// that says who, when and what; so are a second vote of one person, and a decision
// while somebody else writes a reason. A request whose deadline has passed is
// Gone, by the database's clock in the deciding statement. Who is not entitled is
// Forbidden, a resolution that the rule does not offer or a missing reason Invalid,
// a foreign request NotFound. A duplicate is answered by answering its question.
func (s *Service) Decide(ctx context.Context, d Decision) (Request, error) {
	d.Resolution = cmp.Or(d.Resolution, policy.Once)
	d.Extent = cmp.Or(d.Extent, WholeTool)
	d.Reason = strings.TrimSpace(d.Reason)
	if err := d.check(); err != nil {
		return Request{}, err
	}
	var r Request
	var refused error
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		var v verdict
		var approver string
		if r, approver, err = s.reviewable(ctx, tx, d.AgentID, d.RequestID, d.Actor); err != nil {
			return err
		}
		if r.Status != Pending {
			r, refused, err = s.whyNot(ctx, tx, r, d.Actor)
			return err
		}
		if err := d.fits(r); err != nil {
			return err
		}
		if v, refused = judge(r, d, approver); refused != nil {
			return nil
		}
		moved, ok, err := s.move(ctx, tx, r.ID, d, v)
		if err != nil {
			return err
		}
		if ok {
			r = moved
			r.Votes = v.votes
			err = s.settle(ctx, tx, r, d)
			crashpoint.Reach(crashpoint.Deciding)
			return err
		}
		r, refused, err = s.whyNot(ctx, tx, r, d.Actor)
		return err
	})
	if err != nil {
		return Request{}, err
	}
	crashpoint.Reach(crashpoint.Decided)
	if r.Resolution != nil && *r.Resolution == policy.Persistent && refused == nil {
		s.Rules.Changed(r.AgentID) // before the waiting call wakes: it is judged anew
	}
	s.published(r)
	return r, refused
}

// fits refuses what the rule of r does not take.
func (d Decision) fits(r Request) error {
	if d.Approve && !slices.Contains(r.Settings.Resolutions, d.Resolution) {
		return fault.New(fault.Invalid, "resolution_not_offered",
			"the rule does not offer %q; it offers %v", d.Resolution, r.Settings.Resolutions)
	}
	if r.Settings.RequireReason && d.Reason == "" {
		return fault.New(fault.Invalid, "reason_required", "the rule of request %d wants a reason", r.ShortID)
	}
	return nil
}

func (d Decision) check() error {
	switch d.Resolution {
	case policy.Single, policy.Once, policy.Persistent:
	default:
		return fault.Invalidf("resolution %q: want single, once or persistent", d.Resolution)
	}
	if d.Extent != WholeTool && d.Extent != TheseArguments {
		return fault.Invalidf("extent %q: want tool or arguments", d.Extent)
	}
	if d.Approve && d.TryDifferently {
		return fault.Invalidf("only a rejection asks to try it differently")
	}
	if len([]rune(d.Reason)) > maxReason {
		return fault.Invalidf("the reason is longer than %d characters", maxReason)
	}
	return nil
}

// move makes the verdict of d true and stores d's vote, if the request still is
// open, in one statement.
func (s *Service) move(ctx context.Context, tx pgx.Tx, id string, d Decision, v verdict) (Request, bool, error) {
	var ownExtent *Extent
	if d.Approve && d.Resolution == policy.Persistent {
		ownExtent = &d.Extent
	}
	r, ok, err := collect(tx.Query(ctx, `
		WITH r AS (
		    UPDATE approval_requests r
		    SET status = $2,
		        resolution = $3,
		        extent = $4,
		        resolved_by = CASE WHEN $2 <> 'pending' THEN $5 END,
		        resolved_name = CASE WHEN $2 <> 'pending' THEN $6 END,
		        resolved_via = CASE WHEN $2 <> 'pending' THEN $7 END,
		        reason = CASE WHEN $2 <> 'pending' THEN NULLIF($8, '') END,
		        try_differently = $13,
		        resolved_at = CASE WHEN $2 <> 'pending' THEN clock_timestamp() END,
		        hold = NULL,
		        version = r.version + 1
		    WHERE r.id = $1
		      AND r.status = 'pending'
		      AND clock_timestamp() < r.expires_at
		      AND (r.hold IS NULL OR r.hold ->> 'by' = $5)
		      AND ($12 = 0 OR (r.hold ->> 'action')::int = $12)
		    RETURNING r.*
		), vote AS (
		    INSERT INTO approval_votes (request_id, approver, name, via, resolution, extent, reason, at)
		    SELECT r.id, $5, $6, $7, $9, $10, NULLIF($8, ''), clock_timestamp()
		    FROM r
		    WHERE $11
		)
		SELECT `+columns+`
		FROM r`,
		id, string(v.status), v.resolution, v.extent, d.Actor.ID(), d.Actor.Name, d.Actor.Via, d.Reason,
		d.Resolution, ownExtent, d.Approve && !v.again, int(d.held), d.TryDifferently))
	if err != nil {
		return Request{}, false, fmt.Errorf("decide: %w", err)
	}
	return r, ok, nil
}

// settle writes what follows from a decision.
func (s *Service) settle(ctx context.Context, tx pgx.Tx, r Request, d Decision) error {
	var b pgx.Batch
	if d.Approve && r.Settings.Needed() > 1 {
		if err := queueVoted(ctx, &b, r, d); err != nil {
			return err
		}
	}
	if r.Status == Pending {
		var jobs []river.InsertManyParams
		queueUpdates(&b, r, &jobs)
		if err := db.Send(ctx, tx, &b); err != nil {
			return fmt.Errorf("write vote: %w", err)
		}
		return s.insert(ctx, tx, jobs)
	}
	if r.Status == Approved {
		queueGrant(&b, r)
		if *r.Resolution == policy.Persistent {
			if err := allowAlways(ctx, tx, &b, r, d); err != nil {
				return err
			}
		}
	}
	return s.resolved(ctx, tx, &b, r, d.Actor.ID())
}

// resolved writes b with the events, the records and the jobs of a question's end;
// its duplicates end with it.
func (s *Service) resolved(ctx context.Context, tx pgx.Tx, b *pgx.Batch, r Request, actor string) error {
	duplicates, err := endDuplicates(ctx, tx, r)
	if err != nil {
		return err
	}
	for _, one := range append([]Request{r}, duplicates...) {
		if err := queueEnded(ctx, b, one, actor); err != nil {
			return err
		}
	}
	return s.tell(ctx, tx, b, r)
}

// queueEnded has the batch b write the event and the record of a request's end.
func queueEnded(ctx context.Context, b *pgx.Batch, r Request, actor string) error {
	return errors.Join(
		session.QueueAppend(b, r.AgentID, r.SessionID, session.ApprovalResolved, resolvedEvent{
			RequestID: r.ID, ShortID: r.ShortID, ResourceType: r.ResourceType, ResourceKey: r.Resource(),
			Decision: r.Status, Resolution: r.Resolution, ReviewerID: r.ResolvedBy, Reason: r.Reason, TryDifferently: r.TryDifferently,
			Mode: r.Mode, DuplicateOf: r.DuplicateOf,
		}),
		audit.Queue(ctx, b, r.record("approval_"+string(r.Status), actor)))
}

type resolvedEvent struct {
	RequestID      string             `json:"requestId"`
	ShortID        int                `json:"shortId"`
	ResourceType   string             `json:"resourceType"`
	ResourceKey    string             `json:"resourceKey"`
	Decision       Status             `json:"decision"`
	Resolution     *policy.Resolution `json:"resolution,omitempty"`
	ReviewerID     *string            `json:"reviewerId,omitempty"`
	Reason         *string            `json:"reason,omitempty"`
	TryDifferently bool               `json:"tryDifferently,omitempty"`
	Mode           string             `json:"mode"`
	DuplicateOf    *string            `json:"duplicateOf,omitempty"`
}

// queueGrant has the batch b leave what the waiting call, and for Once the calls
// after it, use.
func queueGrant(b *pgx.Batch, r Request) {
	uses, digest := new(1), &r.ArgsDigest
	if *r.Resolution == policy.Once {
		uses = nil
		if r.Settings.Binding == policy.BindResource {
			digest = nil
		}
	}
	b.Queue(`
		INSERT INTO approval_grants
		    (id, agent_id, requester_id, resource_type, resource_key, rule_id, args_digest, uses_left, valid_until, request_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		uuid.Must(uuid.NewV7()).String(), r.AgentID, r.RequesterID, r.ResourceType, r.ResourceKey,
		r.RuleID, digest, uses, r.ValidUntil(), r.ID)
}

// allowAlways adds the rows of a persistent approval, and has the batch b note
// them. Each answers one rule that asked and no other.
func allowAlways(ctx context.Context, tx pgx.Tx, b *pgx.Batch, r Request, d Decision) error {
	what, digest := "any arguments", ""
	if *r.Extent == TheseArguments {
		what, digest = "exactly the arguments of request "+fmt.Sprint(r.ShortID), r.ArgsSHA256
	}
	for _, open := range r.Settings.Opens {
		open.Scope.ArgsDigest = digest
		row, err := rulestore.Add(ctx, tx, policy.Row{
			AgentID: r.AgentID, ResourceType: open.ResourceType, ResourceKey: open.ResourceKey,
			Effect: policy.Allow, Grants: []policy.Grant{policy.ToUser(r.RequesterID)},
			Scope: open.Scope, Origin: policy.OriginApproval,
			Note: fmt.Sprintf("always allowed with %s by %s on %s", what, r.voters(), r.ResolvedAt.UTC().Format(time.DateOnly)),
		}, d.Actor.ID())
		if err != nil {
			return err
		}
		b.Queue(`
			INSERT INTO approval_grants
			    (id, agent_id, requester_id, resource_type, resource_key, rule_id, request_id, policy_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			uuid.Must(uuid.NewV7()).String(), r.AgentID, r.RequesterID, r.ResourceType, r.ResourceKey, r.RuleID, r.ID, row.ID)
	}
	return nil
}

// whyNot explains a decision that came second or too late; a request found
// past its deadline is expired on the way.
func (s *Service) whyNot(ctx context.Context, tx pgx.Tx, r Request, actor Actor) (Request, error, error) {
	if _, _, err := s.expire(ctx, tx, r.ID); err != nil {
		return r, nil, err
	}
	now, err := Get(ctx, tx, r.AgentID, r.ID)
	if err != nil {
		return r, nil, err
	}
	switch {
	case now.Status == Expired:
		return now, expiredError(now), nil
	case now.Status == Pending && now.Hold != nil && now.Hold.By != actor.ID():
		return now, reasonAwaited(now), nil
	case now.Status == Pending:
		return now, holdOver(now), nil
	}
	return now, alreadyDecided(now), nil
}

func expiredError(r Request) error {
	return &fault.Error{Kind: fault.Gone, Code: "expired",
		Message: fmt.Sprintf("request %d expired at %s without an answer", r.ShortID, stamp.Minute(r.ExpiresAt)),
		Data:    map[string]any{"expiresAt": r.ExpiresAt}}
}

func alreadyDecided(r Request) error {
	data := map[string]any{"decision": r.Status, "resolvedAt": r.ResolvedAt}
	who := "its requester"
	if r.ResolvedName != nil {
		who = *r.ResolvedName
	}
	if r.ResolvedBy != nil {
		data["resolvedBy"], data["resolvedName"] = *r.ResolvedBy, who
	}
	if r.Resolution != nil {
		data["resolution"] = *r.Resolution
	}
	return &fault.Error{Kind: fault.Conflict, Code: "already_decided", Data: data,
		Message: fmt.Sprintf("request %d was already %s by %s at %s", r.ShortID, r.Status, who, stamp.Minute(*r.ResolvedAt))}
}
