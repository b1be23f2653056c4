package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holm/approvals"
	"holm/gateway/upstream"
	"holm/internal/audit"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// toolCall is one call of a tool by a proven caller.
type toolCall struct {
	caller  identity.Caller
	session session.Session
	// reprove checks the caller's key again before anything runs late.
	reprove func(ctx context.Context) error
	name    string
	args    json.RawMessage
	meta    json.RawMessage
	// hold is how long the caller will wait for a person.
	hold time.Duration
	// wait is called when the call begins to wait, with the request; it keeps
	// the connection alive until the function it gives is called.
	wait func(r approvals.Request) (stop func())
	// gone is closed when the caller is not there any more.
	gone <-chan struct{}
	// progress passes the upstream's reports on; nil when nobody asked.
	progress func(params json.RawMessage)
}

// call judges and, when it may, executes one call. It is the only way from a
// caller to an upstream.
func (g *Gateway) call(ctx context.Context, c *toolCall) (*entry, json.RawMessage, error) {
	args, err := policy.ParseArgs(c.args)
	if err != nil {
		return nil, nil, &ArgumentsError{err}
	}
	deadline := time.Now().Add(c.hold)
	for {
		p, err := identity.PrincipalOf(ctx, g.Pool, c.caller)
		if err != nil {
			return nil, nil, fmt.Errorf("read principal: %w", err)
		}
		e, snap, err := g.catalogue.find(ctx, p, c.name)
		if err != nil {
			return nil, nil, err
		}
		verdict := snap.set.Evaluate(policy.Request{Principal: p, Tool: e.Key, Server: e.Server, Args: args})
		recorded := g.record(ctx, c, e, args, verdict, snap)
		switch verdict.Decision {
		case policy.Allow:
			result, err := g.forward(ctx, c, e)
			if recordErr := <-recorded; recordErr != nil {
				g.Log.Error("a decision could not be recorded", "agent_id", p.AgentID, "error", recordErr)
			}
			return e, result, err
		case policy.RequireApproval:
			if err := <-recorded; err != nil {
				return e, nil, err
			}
			result, again, err := g.blocked(ctx, c, e, args, verdict, p, deadline)
			if again {
				continue
			}
			return e, result, err
		default:
			return e, nil, errors.Join(&DeniedError{Resource: e.Key, Rule: ruleText(verdict)}, <-recorded)
		}
	}
}

// ruleText names what decided, without arguments' values.
func ruleText(v policy.Result) string {
	if v.Rule == nil {
		if v.Step == policy.StepNoGrant {
			return "no rule allows this caller to use it with these arguments"
		}
		return "the agent's default decision"
	}
	text := fmt.Sprintf("rule %s %s on %s %s", v.Rule.ID, v.Rule.Effect, v.Rule.ResourceType, v.Rule.ResourceKey)
	if v.Rule.Note != "" {
		text += " (" + v.Rule.Note + ")"
	}
	return text
}

// record queues the decision for the audit log.
func (g *Gateway) record(ctx context.Context, c *toolCall, e *entry, args policy.Args, v policy.Result, s *snapshot) <-chan error {
	data := map[string]any{
		"sessionId": c.session.ID, "server": e.Server, "tool": e.Tool, "resourceKey": e.Key,
		"decision": v.Decision, "step": v.Step, "policyVersion": s.policyVersion, "argsDigest": policy.ArgsDigest(args),
	}
	if v.Rule != nil {
		data["ruleId"], data["ruleVersion"] = v.Rule.ID, v.Rule.Version
	}
	return g.records.Write(ctx, audit.Record{Kind: "call_decided", AgentID: c.caller.AgentID, Actor: c.caller.RequesterID(), Data: data})
}

// forward sends an allowed call upstream and records its completion.
func (g *Gateway) forward(ctx context.Context, c *toolCall, e *entry) (json.RawMessage, error) {
	g.running.Add(1)
	defer g.running.Done()
	result, err := g.send(ctx, c, e, c.args)
	<-g.records.Write(context.WithoutCancel(ctx), audit.Record{
		Kind: "call_completed", AgentID: c.caller.AgentID, Actor: c.caller.RequesterID(),
		Data: map[string]any{"sessionId": c.session.ID, "resourceKey": e.Key, "outcome": outcomeOf(result, err)},
	})
	return result, err
}

// send is the only place where a call is executed: by an upstream, or by Holm
// itself.
func (g *Gateway) send(ctx context.Context, c *toolCall, e *entry, args json.RawMessage) (json.RawMessage, error) {
	if e.Server == "" {
		return g.builtins[e.Tool].serve(ctx, c, args)
	}
	client := g.upstreams.get(e.Server)
	if client == nil {
		return nil, &UnavailableError{Server: e.Server, Err: errors.New("it is not registered any more")}
	}
	result, err := client.Call(ctx, upstream.CallRequest{
		Tool: e.Tool, Arguments: args, Meta: c.meta, OnProgress: c.progress,
	})
	var down *upstream.UnavailableError
	if errors.As(err, &down) {
		return nil, &UnavailableError{Server: e.Server, Err: down}
	}
	return result, err
}

// outcomeOf judges an execution as far as it is known.
func outcomeOf(result json.RawMessage, err error) approvals.Outcome {
	var rpc *upstream.RPCError
	var odd *upstream.ResultError
	switch {
	case errors.As(err, &rpc), errors.As(err, &odd):
		return approvals.Failed
	case err != nil:
		return approvals.Unknown
	}
	var r struct {
		IsError bool `json:"isError"`
	}
	if json.Unmarshal(result, &r) != nil || r.IsError {
		return approvals.Failed
	}
	return approvals.Succeeded
}

// blocked is a call that a rule wants approved: it uses an approval that
// stands, or asks and waits. again asks the caller to judge the call anew,
// because what held before may not hold any more.
func (g *Gateway) blocked(ctx context.Context, c *toolCall, e *entry, args policy.Args, v policy.Result, p policy.Principal, deadline time.Time) (_ json.RawMessage, again bool, _ error) {
	ask := approvals.Call{
		Session: c.session, RequesterName: g.requesterName(ctx, c.caller),
		ResourceType: policy.TypeTool, ResourceKey: e.Key, Args: args, Rule: askingRule(v, p.AgentID),
	}
	if _, ok, err := g.Approvals.UseWindow(ctx, ask); err != nil {
		return nil, false, err
	} else if ok {
		result, err := g.forward(ctx, c, e)
		return result, false, err
	}
	r, err := g.Approvals.Ask(ctx, ask)
	if err != nil {
		return nil, false, err
	}
	return g.attached(ctx, c, e, args, v, r, deadline)
}

// attached follows the request that stands for the call to its end. All who
// attach to one request share its one execution and its result.
func (g *Gateway) attached(ctx context.Context, c *toolCall, e *entry, args policy.Args, v policy.Result, r approvals.Request, deadline time.Time) (_ json.RawMessage, again bool, err error) {
	for waited := false; ; {
		if r.Status == approvals.Pending || r.Executing() {
			waited = true
			if r, err = g.await(ctx, c, r, deadline); err != nil {
				return nil, false, err
			}
		}
		switch {
		case r.Status == approvals.Pending, r.Executing():
			return nil, false, g.required(ctx, r)
		case r.Unclaimed():
			if waited {
				if again, err := g.recheck(ctx, c, args, v); again || err != nil {
					return nil, again, err
				}
			}
			claimed, ok, err := g.claim(ctx, r.ID)
			if err != nil {
				return nil, false, err
			}
			if ok {
				result, err := g.execute(ctx, c, e, claimed)
				return result, false, err
			}
			if r, err = approvals.Lookup(ctx, g.Pool, r.ID); err != nil {
				return nil, false, err
			}
			if r.Unclaimed() {
				return nil, true, nil // the approval does not stand any more
			}
			waited = true
		case r.Status == approvals.Approved:
			return g.ended(ctx, r, waited)
		default:
			return nil, false, g.tell(ctx, r)
		}
	}
}

// recheck makes sure after a wait that the caller is still there and that its
// key and the verdict are still the same.
func (g *Gateway) recheck(ctx context.Context, c *toolCall, args policy.Args, v policy.Result) (again bool, _ error) {
	if isClosed(c.gone) {
		return false, context.Canceled // a retry claims it
	}
	if err := c.reprove(ctx); err != nil {
		return false, err
	}
	return g.changedSince(ctx, c, args, v)
}

// askingRule is the row that wants the approval; an agent's default decision
// counts as a row of its own.
func askingRule(v policy.Result, agentID string) policy.Row {
	if v.Rule != nil {
		return *v.Rule
	}
	return policy.Row{ID: approvals.DefaultRule, AgentID: agentID, ResourceType: policy.TypeTool, ResourceKey: "*",
		Effect: policy.RequireApproval, Version: 1, Note: "the agent's default decision"}
}

// changedSince judges the call again; true when another verdict or another
// rule came of it.
func (g *Gateway) changedSince(ctx context.Context, c *toolCall, args policy.Args, before policy.Result) (bool, error) {
	p, err := identity.PrincipalOf(ctx, g.Pool, c.caller)
	if err != nil {
		return false, err
	}
	e, snap, err := g.catalogue.find(ctx, p, c.name)
	if err != nil {
		return false, err
	}
	now := snap.set.Evaluate(policy.Request{Principal: p, Tool: e.Key, Server: e.Server, Args: args})
	if now.Step == policy.StepApproved {
		return false, nil // the persistent approval of this very request
	}
	a, b := askingRule(before, p.AgentID), askingRule(now, p.AgentID)
	return now.Decision != before.Decision || a.ID != b.ID || a.Version != b.Version, nil
}

// execute runs the call of a claimed request: the stored bytes, once. It goes
// on when the caller goes away, since the approval is spent and the result is
// kept for the next identical call.
func (g *Gateway) execute(ctx context.Context, c *toolCall, e *entry, r approvals.Request) (json.RawMessage, error) {
	g.running.Add(1)
	defer g.running.Done()
	ctx = context.WithoutCancel(ctx)
	result, err := g.send(ctx, c, e, r.ArgsBytes)
	var down *UnavailableError
	if errors.As(err, &down) {
		// Nothing was sent, so nothing was spent.
		g.settle(r.ID, func() error { return g.Approvals.Release(ctx, r.ID) })
		return nil, err
	}
	outcome, kept := outcomeOf(result, err), keep(result, err)
	g.settle(r.ID, func() error { return g.Approvals.Finish(ctx, r.ID, outcome, kept) })
	return result, err
}

// stored is how an outcome is kept for a caller that comes back.
type stored struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *wireError      `json:"error,omitempty"`
}

// keep encodes what the caller was told, so that a later one is told the same.
func keep(result json.RawMessage, err error) []byte {
	if err == nil {
		// Spliced rather than encoded: the result's bytes stay as they are.
		return append(append([]byte(`{"result":`), result...), '}')
	}
	told, wire := answer(nil, err)
	raw, err := json.Marshal(stored{Result: told, Error: wire})
	if err != nil {
		return nil // an upstream's error with data that is no JSON: not kept
	}
	return raw
}

// ended answers for a call that has been executed: with its stored result, or
// by judging anew where the approval covers further calls than those that
// waited for this one.
func (g *Gateway) ended(ctx context.Context, r approvals.Request, waited bool) (json.RawMessage, bool, error) {
	if *r.Outcome == approvals.Unknown {
		return nil, false, g.tell(ctx, r)
	}
	if *r.Resolution != policy.Single && !waited {
		return nil, true, nil
	}
	if r.Result == nil {
		return errorResult(nil, fmt.Sprintf("Request %d was executed (%s), but its result was too large to be kept. It is not executed again.", r.ShortID, *r.Outcome),
			map[string]any{"error_type": "RESULT_NOT_KEPT", "code": codeLost, "request_id": r.ID, "short_id": r.ShortID, "outcome": *r.Outcome, "retryable": false}), false, nil
	}
	var s stored
	if err := json.Unmarshal(r.Result, &s); err != nil {
		return nil, false, fmt.Errorf("read stored result: %w", err)
	}
	if s.Error != nil {
		return nil, false, &upstream.RPCError{Code: s.Error.Code, Message: s.Error.Message, Data: s.Error.Data}
	}
	return s.Result, false, nil
}

// tell gives the caller the end of a request and notes that it was given.
func (g *Gateway) tell(ctx context.Context, r approvals.Request) error {
	if err := g.Approvals.Told(ctx, r.ID); err != nil {
		return err
	}
	return &EndedError{Request: r}
}

func (g *Gateway) required(ctx context.Context, r approvals.Request) error {
	reached, err := approvals.Reached(ctx, g.Pool, r.ID)
	if err != nil {
		return err
	}
	return &ApprovalRequiredError{
		AgentID: r.AgentID, RequestID: r.ID, ShortID: r.ShortID, Resource: r.ResourceKey, Status: r.Status,
		ExpiresAt: r.ExpiresAt, Executing: r.Executing(), Reached: reached,
	}
}

func (g *Gateway) requesterName(ctx context.Context, c identity.Caller) string {
	if c.UserID == "" {
		return "agent " + c.AgentID
	}
	name, err := identity.UserName(ctx, g.Pool, c.UserID)
	if err != nil {
		return c.UserID
	}
	return name
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
