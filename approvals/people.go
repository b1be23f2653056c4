package approvals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/identity"
	"holm/policy"
	"holm/policy/rulestore"
)

// Endings is what a change of people, circles or servers ended for good, and what
// of it stands until somebody ends it.
type Endings struct {
	// Keys are the prefixes of revoked keys.
	Keys []string `json:"keys"`
	// Approvals are those that let nothing through any more.
	Approvals []Grant `json:"approvals"`
	// Requests were open and are cancelled, by their numbers.
	Requests []Number `json:"requests"`
	// Rules are rows of policy, as they are now, that allow to fewer than before.
	Rules []rulestore.Row `json:"rules"`
	// Deleted are rows of policy that are gone, Kept are rows about a removed server
	// that stay.
	Deleted []rulestore.Row `json:"deleted"`
	Kept    []rulestore.Row `json:"kept"`
	// Stands are approvals that concern the person and still let calls through.
	Stands []Grant `json:"stands"`
}

// newEndings has lists that are there, as JSON has them.
func newEndings() Endings {
	return Endings{Keys: []string{}, Approvals: []Grant{}, Requests: []Number{}, Rules: []rulestore.Row{},
		Deleted: []rulestore.Row{}, Kept: []rulestore.Row{}, Stands: []Grant{}}
}

// Number is how people name a request of an agent.
type Number struct {
	AgentID string `json:"agentId"`
	ShortID int    `json:"shortId"`
}

// RemoveMember takes a person from an agent with all that they had there: their
// keys, what was approved for them, their open questions, what rows allowed to them
// by name, and what they approved for others and nobody has used yet. An always that
// they approved for others stands. A person who comes back begins anew.
func (s *Service) RemoveMember(ctx context.Context, tx pgx.Tx, agentID, userID string, force bool, a Actor) (e Endings, err error) {
	e = newEndings()
	ids, err := identity.PersonIDs(ctx, tx, userID)
	if err != nil {
		return e, err
	}
	name, err := identity.UserName(ctx, tx, userID)
	if err != nil {
		return e, err
	}
	keys, err := identity.Leave(ctx, tx, agentID, userID, force, a.ID())
	if err != nil {
		return e, err
	}
	e.Keys = append(e.Keys, keys...)
	if err := s.endAsked(ctx, tx, agentID, `r.requester_id = ANY($2)`, ids, name+" is no longer with agent "+agentID+".", a, &e); err != nil {
		return e, err
	}
	grants := make([]policy.Grant, len(ids))
	for i, id := range ids {
		grants[i] = policy.ToUser(id)
	}
	if err := forget(ctx, tx, agentID, grants, a, &e); err != nil {
		return e, err
	}
	if err := s.PeopleChanged(ctx, tx, agentID, a, &e); err != nil {
		return e, err
	}
	stands, err := standing(ctx, tx, agentID, ids)
	e.Stands = append(e.Stands, stands...)
	return e, err
}

// SetRole changes the role of a member. What they had approved and may not approve
// any more ends for good where nobody has used it yet; a role given back does not
// bring it back. What was approved for them, and an always that they approved, stands.
func (s *Service) SetRole(ctx context.Context, tx pgx.Tx, agentID, userID string, role policy.Role, force bool, a Actor) (e Endings, err error) {
	e = newEndings()
	if err := identity.SetRole(ctx, tx, agentID, userID, role, force, a.ID()); err != nil {
		return e, err
	}
	ids, err := identity.PersonIDs(ctx, tx, userID)
	if err != nil {
		return e, err
	}
	if err := s.PeopleChanged(ctx, tx, agentID, a, &e); err != nil {
		return e, err
	}
	stands, err := standing(ctx, tx, agentID, ids)
	e.Stands = append(e.Stands, stands...)
	return e, err
}

// JoinCircle puts a member into a circle, and gives the rows that speak for the
// circle when it has no other member: they hold for the first one at once.
func (s *Service) JoinCircle(ctx context.Context, tx pgx.Tx, agentID, circle, userID string, a Actor) (rules []rulestore.Row, err error) {
	if err := identity.AddToCircle(ctx, tx, agentID, circle, userID, a.ID()); err != nil {
		return nil, err
	}
	members, err := identity.InCircle(ctx, tx, agentID, circle)
	if err != nil {
		return nil, err
	}
	if members == 1 {
		if rules, err = rulestore.Naming(ctx, tx, agentID, policy.ToCircle(circle)); err != nil {
			return nil, err
		}
	}
	return rules, s.PeopleChanged(ctx, tx, agentID, a, &Endings{})
}

// LeaveCircle takes a member out of a circle.
func (s *Service) LeaveCircle(ctx context.Context, tx pgx.Tx, agentID, circle, userID string, a Actor) (e Endings, err error) {
	e = newEndings()
	if err := identity.RemoveFromCircle(ctx, tx, agentID, circle, userID, a.ID()); err != nil {
		return e, err
	}
	return e, s.PeopleChanged(ctx, tx, agentID, a, &e)
}

// DeleteCircle empties a circle, and takes what rows allow to it along: whoever is
// put into a circle of that name later gets nothing by them.
func (s *Service) DeleteCircle(ctx context.Context, tx pgx.Tx, agentID, circle string, a Actor) (e Endings, err error) {
	e = newEndings()
	if err := identity.DeleteCircle(ctx, tx, agentID, circle, a.ID()); err != nil {
		return e, err
	}
	if err := forget(ctx, tx, agentID, []policy.Grant{policy.ToCircle(circle)}, a, &e); err != nil {
		return e, err
	}
	return e, s.PeopleChanged(ctx, tx, agentID, a, &e)
}

// forget takes grants out of the rows of an agent, and adds the rows to e.
func forget(ctx context.Context, tx pgx.Tx, agentID string, grants []policy.Grant, a Actor, e *Endings) error {
	rows, err := rulestore.Forget(ctx, tx, agentID, grants, a.ID())
	e.Rules = append(e.Rules, rows...)
	return err
}

// PeopleChanged follows a change of an agent's roles or circles, in its transaction:
// approvals for one call or for a time whose approvers may not approve them any more
// end, and who may decide now is shown what waits. What ended is added to e. Keys,
// policy and lists are read anew by everybody after the commit.
func (s *Service) PeopleChanged(ctx context.Context, tx pgx.Tx, agentID string, a Actor, e *Endings) error {
	fallen, err := collectRequests(tx.Query(ctx, `
		SELECT DISTINCT r.id
		FROM approval_grants g
		JOIN approval_requests r ON r.id = g.request_id
		WHERE g.agent_id = $1
		  AND `+mayLive+`
		  AND r.resolution <> 'persistent'
		  AND NOT `+approversStand, agentID))
	if err != nil {
		return err
	}
	if err := s.endLeft(ctx, tx, agentID, fallen, a, e); err != nil {
		return err
	}
	db.AfterCommit(tx, func() {
		s.Rules.Changed(agentID)
		s.Hub.Publish(identity.KeysChanged)
	})
	return s.DeliverOpen(ctx, tx, agentID)
}

// mayLive is the condition that the grant g may still let something through: it
// spares the look at all that is long over.
const mayLive = `g.revoked_at IS NULL
		  AND (g.policy_id IS NOT NULL OR g.valid_until > clock_timestamp())
		  AND (g.uses_left IS NULL OR g.uses_left > 0)`

// endAsked ends the requests of an agent that a condition on r, with the parameter
// $2, names: open ones are cancelled, for a reason that reaches who asked, and then
// what the others have left is taken back. What ended is added to e.
func (s *Service) endAsked(ctx context.Context, tx pgx.Tx, agentID, which string, param any, why string, a Actor, e *Endings) error {
	open, err := collectRequests(tx.Query(ctx, `
		SELECT r.id
		FROM approval_requests r
		WHERE r.agent_id = $1
		  AND r.status = 'pending'
		  AND `+which+`
		ORDER BY r.duplicate_of IS NOT NULL, r.id`, agentID, param))
	if err != nil {
		return err
	}
	for _, id := range open {
		r, ok, err := s.cancelOpen(ctx, tx, agentID, id, why, a)
		if err != nil {
			return err
		}
		if ok {
			e.Requests = append(e.Requests, Number{agentID, r.ShortID})
		}
	}
	left, err := leftBy(ctx, tx, agentID, which, param)
	if err != nil {
		return err
	}
	return s.endLeft(ctx, tx, agentID, left, a, e)
}

// leftBy finds the requests of an agent that a condition on r names and that may
// still let something through.
func leftBy(ctx context.Context, tx pgx.Tx, agentID, which string, param any) ([]string, error) {
	return collectRequests(tx.Query(ctx, `
		SELECT DISTINCT r.id
		FROM approval_grants g
		JOIN approval_requests r ON r.id = g.request_id
		WHERE g.agent_id = $1
		  AND `+mayLive+`
		  AND `+which, agentID, param))
}

// endLeft takes back what requests have left, and adds it to e.
func (s *Service) endLeft(ctx context.Context, tx pgx.Tx, agentID string, requestIDs []string, a Actor, e *Endings) error {
	live, err := lockGrants(ctx, tx, agentID, requestIDs)
	if err != nil {
		return err
	}
	e.Approvals = append(e.Approvals, live...)
	return s.takeBackAll(ctx, tx, live, a)
}

// cancelOpen cancels a request; ok is false for one that has ended.
func (s *Service) cancelOpen(ctx context.Context, tx pgx.Tx, agentID, id, why string, a Actor) (r Request, ok bool, err error) {
	r, err = Get(ctx, tx, agentID, id)
	if err != nil || r.Status != Pending {
		return r, false, err
	}
	if r.DuplicateOf != nil {
		// Answers lock the question first, and then its duplicates.
		if err := lock(ctx, tx, *r.DuplicateOf); err != nil {
			return r, false, err
		}
	}
	r, ok, err = s.cancel(ctx, tx, id, Cancellation{AgentID: agentID, RequestID: id, Reason: why, Actor: a})
	if err != nil || !ok {
		return r, false, err
	}
	db.AfterCommit(tx, func() { s.published(r) })
	return r, true, s.withdrawn(ctx, tx, r, a.ID())
}

// standing lists what still lets calls through of a person: what was approved for
// them, and each always that they approved.
func standing(ctx context.Context, tx pgx.Tx, agentID string, ids []string) ([]Grant, error) {
	left, err := leftBy(ctx, tx, agentID, `(r.requester_id = ANY($2)
		  OR EXISTS (SELECT FROM approval_votes v WHERE v.request_id = r.id AND v.approver = ANY($2)))`, ids)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	return grantsOf(ctx, tx, agentID, left)
}

// Lines says in words what ended and what stands. revoke is the command that ends an
// approval, which is followed by its number.
func (e Endings) Lines(revoke string) (lines []string) {
	for _, prefix := range e.Keys {
		lines = append(lines, fmt.Sprintf("Ended: key %s.", prefix))
	}
	for _, g := range e.Approvals {
		lines = append(lines, fmt.Sprintf("Ended: %s.", g.words()))
	}
	for _, n := range e.Requests {
		lines = append(lines, fmt.Sprintf("Cancelled: request %d of agent %s.", n.ShortID, n.AgentID))
	}
	for _, row := range e.Rules {
		lines = append(lines, fmt.Sprintf("Ended: a grant of the rule %s.", row.Words()))
	}
	for _, row := range e.Deleted {
		lines = append(lines, fmt.Sprintf("Deleted: the rule %s.", row.Words()))
	}
	for _, row := range e.Kept {
		lines = append(lines, fmt.Sprintf("Still stands: the rule %s.", row.Words()))
	}
	for _, g := range e.Stands {
		lines = append(lines, fmt.Sprintf("Still stands: %s. To end it: %s %d", g.words(), revoke, g.ShortID))
	}
	return lines
}

func (g Grant) words() string {
	extent := map[policy.Resolution]string{policy.Single: "one call", policy.Once: "for a time", policy.Persistent: "always"}[g.Resolution]
	return fmt.Sprintf("approval %d of agent %s (%s, %s, for %s, by %s)", g.ShortID, g.AgentID, g.ResourceKey, extent, g.RequesterName, g.GrantedBy)
}
