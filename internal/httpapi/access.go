package httpapi

import (
	"context"
	"slices"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
)

// operatorOnly refuses everybody but the operator.
func operatorOnly(ctx context.Context) error {
	if callerOf(ctx).operator {
		return nil
	}
	return fault.New(fault.Forbidden, "forbidden", "only the operator may do this")
}

// known refuses an agent that does not exist, and to everybody but the
// operator any agent that is not their own: both look alike.
func (s *server) known(ctx context.Context, agentID string) error {
	if c := callerOf(ctx); c.operator {
		_, err := identity.GetAgent(ctx, s.Pool, agentID)
		return err
	} else if c.agentID != agentID {
		return fault.NotFoundf("no agent %q", agentID)
	}
	return nil
}

// manages lets the operator change a known agent.
func (s *server) manages(ctx context.Context, agentID string) error {
	if err := s.known(ctx, agentID); err != nil {
		return err
	}
	return operatorOnly(ctx)
}

// sight is what a caller may see of an agent's requests and sessions: all, or
// those of one requester.
type sight struct {
	requester string   // empty: all
	ids       []string // of the requester, with those from before a merge
	// answers is set for the agent's own key, whose programs answer what people
	// write: it sees their conversations too.
	answers bool
}

// sees gives the caller's sight of an agent. An owner sees all; a person
// whom nobody knows sees nothing.
func (s *server) sees(ctx context.Context, agentID string) (sight, error) {
	if err := s.known(ctx, agentID); err != nil {
		return sight{}, err
	}
	c := callerOf(ctx)
	if c.operator || c.owner {
		return sight{}, nil
	}
	if c.requester == "" {
		return sight{}, fault.New(fault.Forbidden, "unknown_person", "%s is not linked to a user", c.person)
	}
	ids, err := identity.PersonIDs(ctx, s.Pool, c.requester)
	return sight{requester: c.requester, ids: ids, answers: c.requester == identity.AgentRequester(agentID)}, err
}

// conversations are the kinds of sessions that people begin to talk in.
var conversations = []session.Kind{session.Chat, session.API}

// coversSession tells whether a session may be seen.
func (v sight) coversSession(s session.Session) bool {
	return v.covers(s.RequesterID) || v.answers && slices.Contains(conversations, s.Kind)
}

// coversRequest tells whether a request may be seen: to the agent's own key also
// those that its programs made on behalf of people.
func (v sight) coversRequest(r approvals.Request) bool {
	return v.covers(r.RequesterID) || v.answers && r.ByKey != ""
}

// covers tells whether something that belongs to requester may be seen.
func (v sight) covers(requester string) bool {
	return v.requester == "" || slices.Contains(v.ids, requester)
}
