package gateway

import (
	"context"

	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// holmSessionHeader names the session that a call is made in: a program with the
// agent's own key works for the person there.
const holmSessionHeader = "Holm-Session"

// acting is who a message acts for, and in which session. Each message stands
// for itself; one whose header names no usable session acts for nobody, and not
// for the key alone.
func (g *Gateway) acting(ctx context.Context, x *exchange) (identity.Caller, session.Session, error) {
	name, named := x.namedSession()
	if !named {
		return x.caller, x.holmSession(), nil
	}
	return session.OnBehalf(ctx, g.Pool, x.caller, name)
}

// namedSession is what the client's header says. Several are as good as one that
// nobody has: which of them is meant is not ours to guess.
func (x *exchange) namedSession() (name string, named bool) {
	switch all := x.request.Header.Values(holmSessionHeader); len(all) {
	case 0:
		return "", false
	case 1:
		return all[0], true
	default:
		return "", true
	}
}

// reprove checks after a wait that the key is still good, and that it or the
// session it named still stands for the same person.
func (g *Gateway) reprove(ctx context.Context, x *exchange, before identity.Caller) error {
	key, err := g.authenticate(x.request.WithContext(ctx))
	if err != nil {
		return err
	}
	if name, named := x.namedSession(); named {
		return session.StillOnBehalf(ctx, g.Pool, key, before, name)
	}
	return g.sameCaller(ctx, before, key)
}

// behalfRule stands for a row that nobody has written: a program does not change
// who may do what in the name of an owner before an owner has seen the change.
var behalfRule = policy.Row{
	ID: "on_behalf", ResourceType: policy.TypeTool, Effect: policy.RequireApproval, Version: 1,
	Note:  "a program of the agent asks on behalf of a person, and it changes who may do what",
	Scope: policy.Scope{Approval: &policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Single}}},
}

// seenByAnOwner makes a question of a verdict that would let a program change
// who may do what on behalf of somebody: it could take all other questions away.
func (g *Gateway) seenByAnOwner(c *toolCall, j *judgement) {
	b := g.builtins[j.entry.Tool]
	if !c.caller.OnBehalf || j.entry.Server != "" || b == nil || !b.Governs {
		return
	}
	rule := behalfRule
	rule.AgentID, rule.ResourceKey = c.caller.AgentID, j.entry.Key
	j.behalf = &rule
	if j.verdict.Decision == policy.Allow {
		j.verdict.Decision, j.verdict.Step = policy.RequireApproval, policy.StepApproval
		j.verdict.Rule, j.verdict.Settings = &rule, rule.Scope.Approval
	}
}
