package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/gateway/upstream"
	"holm/internal/audit"
	"holm/internal/caught"
	"holm/internal/crashpoint"
	"holm/internal/identity"
	"holm/internal/redact"
	"holm/internal/session"
	"holm/policy"
)

// toolCall is one call of a tool by a proven caller.
type toolCall struct {
	// id ties the records of the call together.
	id string
	// outside tells that the caller runs the call itself.
	outside bool
	caller  identity.Caller
	session session.Session
	// reprove checks the caller's key again before anything runs late.
	reprove func(ctx context.Context) error
	name    string
	args    json.RawMessage
	meta    json.RawMessage
	// hold is how long the caller will wait for a person.
	hold time.Duration
	// wait is called when the call begins to wait, with a look at the request as
	// it is then; it keeps the connection alive until the function it gives is
	// called.
	wait func(now func() *approvals.Request) (stop func())
	// elicit asks the caller in a dialog of their client; nil where it has none.
	elicit func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// gone is closed when the caller is not there any more.
	gone <-chan struct{}
	// waited is the request that the call has waited for before; empty for none.
	waited string
	// listed tells that the caller was told of the tool before: what denies it since
	// is told by name.
	listed bool
	// sending is asked in the moment before the call is executed, with the
	// request that was approved for it, if any; its error stops the call. Optional.
	sending func(ctx context.Context, requestID string) error
	// progress passes the upstream's reports on; nil when nobody asked.
	progress func(params json.RawMessage)
}

// call judges and, when it may, executes one call. It is the only way from a
// caller to an upstream.
func (g *Gateway) call(ctx context.Context, c *toolCall) (*entry, json.RawMessage, error) {
	if !g.running.enter() {
		return nil, nil, errStopping
	}
	defer g.running.leave()
	crashpoint.Reach(crashpoint.CallArrived)
	if err := g.Intake.CheckArgs(c.args); err != nil {
		return nil, nil, &ArgumentsError{err}
	}
	args, err := policy.ParseArgs(c.args)
	if err != nil {
		return nil, nil, &ArgumentsError{err}
	}
	deadline := time.Now().Add(c.hold)
	for {
		j, err := g.judge(ctx, c, args)
		if err != nil {
			return nil, nil, errors.Join(err, g.recordUnknown(ctx, c, err))
		}
		e, recorded := j.entry, g.record(ctx, c, j)
		switch j.verdict.Decision {
		case policy.Allow:
			g.countUse(ctx, c, j)
			result, err := g.forward(ctx, c, j)
			if recordErr := <-recorded; recordErr != nil {
				g.Log.Error("a decision could not be recorded", "agent_id", c.caller.AgentID, "error", recordErr)
			}
			return e, result, err
		case policy.RequireApproval:
			if err := <-recorded; err != nil {
				return e, nil, err
			}
			result, again, err := g.blocked(ctx, c, j, deadline)
			if again {
				continue
			}
			return e, result, err
		default:
			return e, nil, errors.Join(&DeniedError{Resource: e.Key, Rule: j.reason()}, <-recorded)
		}
	}
}

// countUse counts a call that a persistent approval lets through, beside it: the
// number is for people.
func (g *Gateway) countUse(ctx context.Context, c *toolCall, j *judgement) {
	if j.verdict.Step != policy.StepApproved {
		return
	}
	ctx = context.WithoutCancel(ctx)
	g.running.beside(g.Log, func() {
		if err := g.Approvals.Used(ctx, j.verdict.Rule.ID, c.caller.RequesterID()); err != nil {
			g.Log.Warn("a use of an approval was not counted", "agent_id", c.caller.AgentID, "error", err)
		}
	})
}

// record queues the decision for the audit log.
func (g *Gateway) record(ctx context.Context, c *toolCall, j *judgement) <-chan error {
	data := c.about(j)
	data["decision"], data["step"], data["layer"] = j.verdict.Decision, j.verdict.Step, j.verdict.Layer
	data["argsDigest"] = policy.ArgsDigest(j.request.Args)
	return g.write(ctx, c, "call_decided", data)
}

// about says in a record which call it is of, and under which policy.
func (c *toolCall) about(j *judgement) map[string]any {
	resourceType, key := j.resource()
	data := map[string]any{
		"callId": c.id, "sessionId": c.session.ID, "server": j.entry.Server, "tool": j.entry.Tool,
		"resourceType": resourceType, "resourceKey": redact.Text(key), "policyVersion": j.snapshot.policyVersion,
	}
	if c.outside {
		data["via"] = "enforce"
	}
	c.behalf(data)
	if rule := j.verdict.Rule; rule != nil {
		data["ruleId"], data["ruleVersion"] = rule.ID, rule.Version
	}
	return data
}

// maxUnknownName bounds what a record keeps of a name that nobody gave a tool.
const maxUnknownName = 128

// recordUnknown records the call of a tool that is not there for its caller.
func (g *Gateway) recordUnknown(ctx context.Context, c *toolCall, err error) error {
	var unknown *UnknownToolError
	if !errors.As(err, &unknown) {
		return nil
	}
	data := map[string]any{
		"callId": c.id, "sessionId": c.session.ID, "tool": clip(unknown.Name, maxUnknownName), "decision": policy.Deny, "step": "unknown_tool",
	}
	c.behalf(data)
	return <-g.write(ctx, c, "call_decided", data)
}

// behalf names in a record the key that a program made the call with on behalf of
// its actor.
func (c *toolCall) behalf(data map[string]any) {
	if c.caller.OnBehalf {
		data["byKey"] = c.caller.KeyPrefix
	}
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (g *Gateway) write(ctx context.Context, c *toolCall, kind string, data map[string]any) <-chan error {
	return g.records.Write(ctx, audit.Record{Kind: kind, AgentID: c.caller.AgentID, Actor: c.caller.RequesterID(), Data: data})
}

// forward sends an allowed call upstream and records its completion.
func (g *Gateway) forward(ctx context.Context, c *toolCall, j *judgement) (json.RawMessage, error) {
	if c.sending != nil {
		if err := c.sending(ctx, ""); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	result, err := g.send(ctx, c, j.entry, c.args)
	data := c.about(j)
	data["outcome"], data["ms"] = outcomeOf(result, err), time.Since(began).Milliseconds()
	var down *UnavailableError
	if errors.As(err, &down) {
		data["outcome"], data["error"] = approvals.Failed, "server_unavailable"
	}
	<-g.write(context.WithoutCancel(ctx), c, "call_completed", data)
	return result, err
}

// send is the only place where a call is executed: by an upstream, or by Holm
// itself. A panic there is an outcome that nobody knows.
func (g *Gateway) send(ctx context.Context, c *toolCall, e *entry, args json.RawMessage) (_ json.RawMessage, err error) {
	defer caught.Err(g.Log, "call of "+e.Key, &err)
	if e.Server == "" {
		return g.serve(ctx, g.builtins[e.Tool], c, args)
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
