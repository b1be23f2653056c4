package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/redact"
	"holm/internal/stamp"
	"holm/policy"
)

// Grant is what an approved request has left and what still lets calls through:
// one use, a window of time, or a row of policy. It is named like its request.
type Grant struct {
	ID            string            `json:"id"`
	ShortID       int               `json:"shortId"`
	AgentID       string            `json:"agentId"`
	RequesterID   string            `json:"requesterId"`
	RequesterName string            `json:"requesterName"`
	ResourceType  string            `json:"resourceType"`
	ResourceKey   string            `json:"resourceKey"`
	Resolution    policy.Resolution `json:"resolution"`
	// Binding is arguments when it covers those of the request alone, resource
	// when it covers any.
	Binding policy.Binding `json:"binding"`
	// Uses counts the calls that it let through. UsesLeft is absent where they are
	// not limited, ValidUntil where time does not end it.
	Uses       int        `json:"uses"`
	UsesLeft   *int       `json:"usesLeft,omitempty"`
	ValidUntil *time.Time `json:"validUntil,omitempty"`
	// PolicyIDs are the rows that a persistent approval opened.
	PolicyIDs []string  `json:"policyIds"`
	GrantedBy string    `json:"grantedBy"`
	GrantedAt time.Time `json:"grantedAt"`
}

// grantLives is the condition that the grant g can let a call through, by itself
// or by its row of policy. Whether its approver is still an owner is not asked:
// they may become one again.
const grantLives = `(
	g.revoked_at IS NULL
	AND g.valid_until > clock_timestamp()
	AND (g.uses_left IS NULL OR g.uses_left > 0)
	AND ` + alwaysStands + `
	OR g.revoked_at IS NULL
	AND EXISTS (
	    SELECT 1
	    FROM agent_policies p
	    WHERE p.id = g.policy_id
	      AND p.grants @> jsonb_build_array(jsonb_build_object('type', 'user', 'value', g.requester_id))
	))`

// Grants lists what an agent's approved requests have left and nobody has used
// up or revoked, the newest first. requestID narrows to one request when set.
func Grants(ctx context.Context, q db.Queryer, agentID, requestID string) ([]Grant, error) {
	if requestID == "" {
		return grantsOf(ctx, q, agentID, nil)
	}
	return grantsOf(ctx, q, agentID, []string{requestID})
}

// grantsOf is Grants of some requests, or of all for nil.
func grantsOf(ctx context.Context, q db.Queryer, agentID string, requestIDs []string) ([]Grant, error) {
	rows, err := q.Query(ctx, `
		SELECT r.id, r.short_id, r.agent_id, r.requester_id, COALESCE(living.name, r.requester_name),
		       r.resource_type, r.resource_key, r.resolution,
		       CASE
		           WHEN r.extent = 'tool' THEN 'resource'
		           WHEN r.resolution = 'once' THEN COALESCE(NULLIF(r.settings ->> 'binding', ''), 'arguments')
		           ELSE 'arguments'
		       END,
		       COALESCE(sum(g.uses) FILTER (WHERE g.policy_id IS NULL), 0)::integer
		           + COALESCE(max(g.uses) FILTER (WHERE g.policy_id IS NOT NULL), 0),
		       CASE WHEN r.resolution = 'single' THEN max(g.uses_left) END,
		       CASE WHEN r.resolution <> 'persistent' THEN max(g.valid_until) END,
		       COALESCE(array_agg(g.policy_id) FILTER (WHERE g.policy_id IS NOT NULL AND g.revoked_at IS NULL), '{}'),
		       r.resolved_name, r.resolved_at
		FROM approval_requests r
		JOIN approval_grants g ON g.request_id = r.id
		LEFT JOIN users asked ON asked.id = r.requester_id
		LEFT JOIN users living ON living.id = COALESCE(asked.merged_into, asked.id)
		WHERE r.agent_id = $1
		  AND ($2::text[] IS NULL OR r.id = ANY($2))
		GROUP BY r.id, living.name
		HAVING bool_or(`+grantLives+`)
		ORDER BY r.id DESC`, agentID, requestIDs)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Grant])
	for i := range list {
		list[i].ResourceKey = redact.Text(list[i].ResourceKey)
	}
	return list, err
}

// Revoke takes back all that an approved request has left, and gives it as it
// was. What is claimed afterwards, by whichever process, is not let through; what
// runs already runs on. Of a persistent approval the row of policy loses this
// requester and keeps others. Who is neither the operator nor an owner is
// Forbidden, a request without a grant NotFound; a second revocation is a
// Conflict that says when the first was, and what is used up or over is Gone.
func (s *Service) Revoke(ctx context.Context, agentID, requestID string, a Actor) (Grant, error) {
	var g Grant
	opened := false
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := mayRevoke(ctx, tx, agentID, a); err != nil {
			return err
		}
		r, err := Get(ctx, tx, agentID, requestID)
		if err != nil {
			return err
		}
		g, opened, err = s.revoke(ctx, tx, r, a)
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	if opened {
		s.Rules.Changed(agentID)
	}
	return g, nil
}

func mayRevoke(ctx context.Context, q db.Queryer, agentID string, a Actor) error {
	if a.Admin {
		return nil
	}
	role, err := identity.RoleOf(ctx, q, agentID, a.UserID)
	if err != nil {
		return fmt.Errorf("read role: %w", err)
	}
	if a.UserID == "" || role != policy.Owner {
		return fault.New(fault.Forbidden, "forbidden", "only an owner of agent %q may revoke what was approved", agentID)
	}
	return nil
}

func (s *Service) revoke(ctx context.Context, tx pgx.Tx, r Request, a Actor) (g Grant, opened bool, err error) {
	live, err := lockGrants(ctx, tx, r.AgentID, []string{r.ID})
	if err != nil {
		return g, false, err
	}
	if len(live) == 0 {
		return g, false, nothingToRevoke(ctx, tx, r)
	}
	opened, err = s.takeBack(ctx, tx, live[0], a)
	return live[0], opened, err
}

// nothingToRevoke says why a request has no grant that lives.
func nothingToRevoke(ctx context.Context, q db.Queryer, r Request) error {
	var left bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM approval_grants WHERE request_id = $1)`, r.ID).Scan(&left)
	if err != nil {
		return fmt.Errorf("read grant: %w", err)
	}
	if !left {
		return fault.NotFoundf("request %d has left no grant: it is %s", r.ShortID, r.Status)
	}
	was, err := RevocationOf(ctx, q, r.ID)
	if err != nil {
		return err
	}
	if was == nil {
		return fault.New(fault.Gone, "grant_over", "what request %d was granted is used up or over", r.ShortID)
	}
	return &fault.Error{Kind: fault.Conflict, Code: "already_revoked", Data: map[string]any{"revokedAt": was.At, "revokedBy": was.By},
		Message: fmt.Sprintf("what request %d was granted was already revoked by %s at %s", r.ShortID, was.Name, stamp.Minute(was.At))}
}

// Revocation is who took back what a request was granted, and when.
type Revocation struct {
	At   time.Time
	By   *string
	Name string
}

// RevocationOf is that of a request, nil when nothing of it was revoked by people;
// what else ends it is told by Stopped.
func RevocationOf(ctx context.Context, q db.Queryer, requestID string) (*Revocation, error) {
	var was Revocation
	err := q.QueryRow(ctx, `
		SELECT revoked_at, revoked_by
		FROM approval_grants
		WHERE request_id = $1
		  AND revoked_at IS NOT NULL
		  AND revoked_by IS DISTINCT FROM $2
		ORDER BY revoked_at
		LIMIT 1`, requestID, holm.ID()).Scan(&was.At, &was.By)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read revocation: %w", err)
	}
	was.Name, err = revokerName(ctx, q, was.By)
	return &was, err
}

func revokerName(ctx context.Context, q db.Queryer, id *string) (string, error) {
	if id == nil || *id == "admin" {
		return "the operator", nil
	}
	return identity.UserName(ctx, q, *id)
}

// Used counts a call that a persistent approval let through by its row of policy.
func (s *Service) Used(ctx context.Context, policyID, requesterID string) error {
	ids, err := identity.PersonIDs(ctx, s.Pool, requesterID)
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, `
		UPDATE approval_grants
		SET uses = uses + 1
		WHERE policy_id = $1
		  AND requester_id = ANY($2)
		  AND revoked_at IS NULL`, policyID, ids)
	if err != nil {
		return fmt.Errorf("count use: %w", err)
	}
	return nil
}
