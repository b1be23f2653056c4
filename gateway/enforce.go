package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/internal/stamp"
	"holm/policy"
)

// Enforcement is a call that its caller runs itself, and only if the gate lets
// it: a hook, a job, an agent with tools of its own.
type Enforcement struct {
	// Caller is who asks: proven, or named by an owner or the operator.
	Caller  identity.Caller
	Session session.Session
	// ResourceType and ResourceKey are what a person is asked about.
	ResourceType, ResourceKey string
	// Request puts the call together as users, roles and servers are now. It is
	// called again after a wait.
	Request func(ctx context.Context) (policy.Request, error)
	// Reprove checks the credential again after a wait.
	Reprove func(ctx context.Context) error
	// Wait is how long the caller will wait for a person.
	Wait time.Duration
}

// Enforced lets the call through.
type Enforced struct {
	// GrantID is the approval that did; empty when policy allows the call.
	GrantID string
	// RequestID is set when the approval was for this one call and is spent by it.
	// Its outcome may be reported.
	RequestID string
}

// Enforce decides about a call as call does, with the same questions, records and
// events, but runs nothing. An approval for one call is claimed by the answer
// that lets it through; nobody else gets it. Refusals are faults: access_denied,
// approval_required, and one for each end of a question.
func (g *Gateway) Enforce(ctx context.Context, e Enforcement) (Enforced, error) {
	if !g.running.enter() {
		return Enforced{}, errStopping
	}
	defer g.running.leave()
	c := &toolCall{
		id: uuid.Must(uuid.NewV7()).String(), outside: true, caller: e.Caller, session: e.Session, reprove: e.Reprove,
		wait: func(func() *approvals.Request) func() { return func() {} }, gone: ctx.Done(),
	}
	deadline := time.Now().Add(e.Wait)
	for {
		j, err := g.weigh(ctx, e)
		if err != nil {
			return Enforced{}, err
		}
		if err := <-g.record(ctx, c, j); err != nil {
			return Enforced{}, err
		}
		switch j.verdict.Decision {
		case policy.Allow:
			g.countUse(ctx, c, j)
			return Enforced{}, nil
		case policy.RequireApproval:
			done, again, err := g.admit(ctx, e, c, j, deadline)
			if !again {
				return done, g.refusal(ctx, err)
			}
		default:
			return Enforced{}, g.refusal(ctx, &DeniedError{Resource: e.ResourceKey, Rule: j.reason()})
		}
	}
}

// weigh judges the call as policy is now.
func (g *Gateway) weigh(ctx context.Context, e Enforcement) (*judgement, error) {
	req, err := e.Request(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := g.Rules.Get(ctx, e.Caller.AgentID)
	if err != nil {
		return nil, err
	}
	j := &judgement{
		entry:        &entry{Key: req.Tool, Server: req.Server, Tool: toolOn(req.Server, req.Tool)},
		snapshot:     &snapshot{policyVersion: rules.Version, set: rules.Set},
		resourceType: e.ResourceType, resourceKey: e.ResourceKey,
		request: req, verdict: rules.Evaluate(req),
	}
	if req.Server == "" || j.verdict.Decision == policy.Allow || j.verdict.Step == policy.StepDeny {
		return j, nil // how the tool is made has no part in it
	}
	if j.entry.made, err = g.upstreams.definition(ctx, req.Server, j.entry.Tool); err != nil {
		return nil, err
	}
	j.request.Definition = j.entry.made.digest
	j.verdict = rules.Evaluate(j.request)
	return j, nil
}

// toolOn is the tool's own name on its server.
func toolOn(server, key string) string {
	if server == "" {
		return key
	}
	return strings.TrimPrefix(key, "mcp__"+server+"__")
}

// admit uses an approval that stands, or asks and waits. again asks for the call
// to be judged anew, because what held before may not hold any more.
func (g *Gateway) admit(ctx context.Context, e Enforcement, c *toolCall, j *judgement, deadline time.Time) (_ Enforced, again bool, _ error) {
	ask, _ := j.question(c, g.requesterName(ctx, c.caller))
	if id, ok, err := g.Approvals.UseWindow(ctx, ask); err != nil || ok {
		return Enforced{GrantID: id}, false, err
	}
	r, err := g.Approvals.Ask(ctx, ask)
	if g.outdated(c, err) {
		return Enforced{}, true, nil
	}
	if err != nil {
		return Enforced{}, false, err
	}
	waited := r.Status == approvals.Pending
	if waited {
		if r, err = g.await(ctx, c, r, deadline); err != nil {
			return Enforced{}, false, err
		}
	}
	own, err := identity.Same(ctx, g.Pool, c.session.RequesterID, r.RequesterID)
	if err != nil {
		return Enforced{}, false, err
	}
	switch {
	case r.Status == approvals.Pending:
		return Enforced{}, false, g.required(ctx, r)
	case r.Superseded():
		return Enforced{}, true, nil
	case r.Status != approvals.Approved:
		return Enforced{}, false, g.tell(ctx, r)
	case !r.Unclaimed(), !own:
		return Enforced{}, true, nil // another call has it
	}
	for ; ; waited = true {
		if waited {
			if ask, again, err = g.reweigh(ctx, e, c, r); again || err != nil {
				return Enforced{}, again, err
			}
		}
		done, again, err := g.claimOutside(ctx, r, ask)
		if !g.outdated(c, err) {
			return done, again, err
		}
	}
}

// reweigh is recheck for a call that its caller runs.
func (g *Gateway) reweigh(ctx context.Context, e Enforcement, c *toolCall, r approvals.Request) (ask approvals.Call, again bool, _ error) {
	if isClosed(c.gone) {
		return ask, false, context.Canceled // a retry claims it
	}
	if err := e.Reprove(ctx); err != nil {
		return ask, false, err
	}
	now, err := g.weigh(ctx, e)
	if err != nil {
		return ask, false, err
	}
	return g.answered(ctx, c, now, r)
}

// claimOutside spends the approval on this call. A caller that has left before
// it could be told has run nothing.
func (g *Gateway) claimOutside(ctx context.Context, r approvals.Request, ask approvals.Call) (_ Enforced, again bool, _ error) {
	claimed, ok, err := g.Approvals.ClaimOutside(context.WithoutCancel(ctx), r, ask)
	if err != nil || !ok {
		return Enforced{}, err == nil, err
	}
	if ctx.Err() != nil {
		return Enforced{}, false, errors.Join(ctx.Err(), g.Approvals.ReleaseOutside(context.WithoutCancel(ctx), claimed.ID))
	}
	return Enforced{GrantID: claimed.ID, RequestID: claimed.ID}, false, nil
}

// refusal gives the gate's errors the form of faults: this edge's one table.
func (g *Gateway) refusal(ctx context.Context, err error) error {
	var denied *DeniedError
	var required *ApprovalRequiredError
	var ended *EndedError
	switch {
	case errors.As(err, &denied):
		f := fault.New(fault.Forbidden, "access_denied", "denied by policy: %s", denied.Rule)
		f.Data = map[string]any{"rule": denied.Rule}
		return f
	case errors.As(err, &required):
		text := fmt.Sprintf("request %d waits for an owner's decision until %s; ask again for the answer", required.ShortID, stamp.Minute(required.ExpiresAt))
		return g.withRequest(ctx, required.RequestID, fault.Conflict, "approval_required", text)
	case errors.As(err, &ended):
		kind, text := endOf(ended.Request)
		return g.withRequest(ctx, ended.Request.ID, kind, "approval_"+string(ended.Request.Status), text)
	}
	return err
}

// endOf says how a question ended that lets nothing through.
func endOf(r approvals.Request) (kind fault.Kind, text string) {
	by, reason := deref(r.ResolvedName, "an owner"), ""
	if r.Reason != nil {
		reason = fmt.Sprintf(": %q", *r.Reason)
	}
	switch r.Status {
	case approvals.Rejected:
		return fault.Forbidden, fmt.Sprintf("%s rejected request %d%s", by, r.ShortID, reason)
	case approvals.Cancelled:
		return fault.Conflict, fmt.Sprintf("request %d was withdrawn%s", r.ShortID, reason)
	}
	return fault.Gone, fmt.Sprintf("nobody answered request %d by %s; silence is not consent", r.ShortID, stamp.Minute(r.ExpiresAt))
}

// withRequest is a fault with its request as every surface shows it.
func (g *Gateway) withRequest(ctx context.Context, requestID string, kind fault.Kind, code, text string) error {
	r, err := approvals.Lookup(ctx, g.Pool, requestID)
	if err != nil {
		return err
	}
	wires, err := approvals.OnWire(ctx, g.Pool, r)
	if err != nil {
		return err
	}
	f := fault.New(kind, code, "%s", text)
	f.Data = map[string]any{"request": wires[0]}
	return f
}
