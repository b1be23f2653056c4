package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"holm/approvals"
	"holm/gateway/upstream"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// PersonCall is a call that a person makes without a key, in a chat. Whoever
// makes it vouches for the person.
type PersonCall struct {
	// Session is the person's; its agent and requester are the call's.
	Session session.Session
	// Tool is named as in lists.
	Tool string
	Args json.RawMessage
	// Waited is the request that this call has waited for, empty for none: where that
	// was executed meanwhile, its result is this call's as well.
	Waited string
	// Sending is called in the moment before the call is executed, with the
	// request that was approved for it, if any. Its error keeps the call from
	// being sent, and comes back.
	Sending func(ctx context.Context, requestID string) error
}

// PersonAnswer is what a person's call came to; one field is set.
type PersonAnswer struct {
	// Result is the tool's own, as it came.
	Result json.RawMessage
	// Waits is the request that has to be answered, or whose running call has to
	// end, before this call can go on; nothing was sent.
	Waits string
	// Ended is a request that ended without a result for this call.
	Ended *approvals.Request
	// Refusal says in words why there is no result.
	Refusal string
}

// CallAsPerson takes a call through the same gate as one that comes over MCP:
// policy as it is now, approvals, audit. It does not wait for a person. Its
// errors are internal ones: if Sending was not called, nothing was sent.
func (g *Gateway) CallAsPerson(ctx context.Context, p PersonCall) (PersonAnswer, error) {
	caller := identity.Caller{AgentID: p.Session.AgentID, UserID: p.Session.RequesterID}
	member := func(ctx context.Context) error {
		role, err := identity.RoleOf(ctx, g.Pool, caller.AgentID, caller.UserID)
		if err == nil && role == "" {
			return fault.New(fault.Forbidden, "no_member", "you are no member of agent %s any more", caller.AgentID)
		}
		return err
	}
	if err := member(ctx); err != nil {
		return personAnswer(nil, err, false)
	}
	sent := false
	_, result, err := g.call(ctx, &toolCall{
		id: uuid.Must(uuid.NewV7()).String(), caller: caller, session: p.Session, reprove: member, name: p.Tool, args: p.Args,
		waited: p.Waited, listed: p.Waited != "",
		sending: func(ctx context.Context, requestID string) error {
			err := p.Sending(ctx, requestID)
			sent = sent || err == nil
			return err
		},
	})
	return personAnswer(result, err, sent)
}

// personAnswer is the table of this edge: what a person is told of a failure.
func personAnswer(result json.RawMessage, err error, sent bool) (PersonAnswer, error) {
	if err == nil {
		return PersonAnswer{Result: result}, nil
	}
	if required, ok := errors.AsType[*ApprovalRequiredError](err); ok {
		return PersonAnswer{Waits: required.RequestID}, nil
	}
	if ended, ok := errors.AsType[*EndedError](err); ok {
		return PersonAnswer{Ended: &ended.Request}, nil
	}
	if text := refusal(err); text != "" {
		return PersonAnswer{Refusal: text}, nil
	}
	if sent {
		return PersonAnswer{Refusal: lostText}, nil
	}
	return PersonAnswer{}, err
}

const lostText = "The outcome is unknown: the call had been sent and may have run. It is not sent again by itself; look before you send it again."

func refusal(err error) string {
	var (
		unknown     *UnknownToolError
		arguments   *ArgumentsError
		denied      *DeniedError
		unavailable *UnavailableError
		rpc         *upstream.RPCError
		lost        *upstream.LostError
		odd         *upstream.ResultError
	)
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("There is no tool %q that you may call.", unknown.Name)
	case errors.As(err, &arguments):
		return "The arguments cannot be used: " + arguments.Err.Error() + "."
	case errors.As(err, &denied):
		return fmt.Sprintf("Denied by policy: %s. Nothing ran.", denied.Rule)
	case errors.As(err, &unavailable):
		return fmt.Sprintf("Server %s is not available now; nothing ran. Try again later.", unavailable.Server)
	case errors.As(err, &rpc):
		return "The server refused the call: " + rpc.Message
	case errors.As(err, &lost):
		return lostText
	case errors.As(err, &odd):
		return "The server executed the call but gave an answer that cannot be used: " + odd.Reason
	}
	if f, ok := fault.As(err); ok && f.Kind != fault.Unavailable && !db.IsUnavailable(err) {
		return f.Message
	}
	return ""
}

// PersonTool is a tool as a person may call it.
type PersonTool struct {
	Name, Server, Description string
	// Short is the tool's own name at its server.
	Short  string
	Schema json.RawMessage
	// Decision is what policy says to a call: allow or require_approval whatever
	// the arguments, empty where it depends on them.
	Decision policy.Effect
}

// PersonTools are the tools that a user may call for an agent now, by name.
func (g *Gateway) PersonTools(ctx context.Context, agentID, userID string) ([]PersonTool, error) {
	p, err := identity.PrincipalOf(ctx, g.Pool, identity.Caller{AgentID: agentID, UserID: userID})
	if err != nil {
		return nil, fmt.Errorf("read principal: %w", err)
	}
	s, err := g.catalogue.list(ctx, p)
	if err != nil {
		return nil, err
	}
	all := make([]PersonTool, len(s.entries))
	for i, e := range s.entries {
		all[i] = PersonTool{Name: e.Exposed, Server: e.Server, Short: e.Tool, Decision: s.decides(p, e)}
		fields := object(e.raw)
		_ = json.Unmarshal(fields["description"], &all[i].Description) // an odd one is none
		all[i].Schema = fields["inputSchema"]
	}
	return all, nil
}

// decides is what holds for all calls of a tool, empty where it depends.
func (s *snapshot) decides(p policy.Principal, e *entry) policy.Effect {
	if len(e.maps) > 0 {
		return "" // it depends on the files and commands
	}
	if len(s.set.Capabilities(p, []policy.Tool{{Name: e.Key, Server: e.Server, Definition: e.made.digest}})) > 0 {
		return policy.Allow
	}
	r := s.set.Evaluate(policy.Request{Principal: p, Tool: e.Key, Server: e.Server, Definition: e.made.digest})
	if r.Decision == policy.RequireApproval {
		return policy.RequireApproval
	}
	return ""
}
