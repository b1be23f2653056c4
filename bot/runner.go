package bot

import (
	"context"
	"encoding/json"

	"holm/approvals"
	"holm/internal/session"
	"holm/policy"
)

// Runner calls tools for people, through the gate that every call takes.
type Runner interface {
	// Tools are those that a user may call for an agent now, by name.
	Tools(ctx context.Context, agentID, userID string) ([]Tool, error)
	// Call takes one call through the gate, without waiting for a person. Its
	// errors are internal ones: if Sending was not called, nothing was sent.
	Call(ctx context.Context, c ToolCall) (ToolAnswer, error)
}

// Tool is a tool that a person may call.
type Tool struct {
	// Name is the whole name, Short the tool's own at its server.
	Name, Server, Description string
	Short                     string
	// Schema is the JSON Schema of the arguments, as the server gives it.
	Schema json.RawMessage
	// Decision is what policy says to every call; empty where it depends on the
	// arguments.
	Decision policy.Effect
}

// ToolCall is one call of a person.
type ToolCall struct {
	// Session is the person's; its agent and requester are the call's.
	Session session.Session
	Tool    string
	Args    json.RawMessage
	// Waited is the request that this call has waited for, empty for none: where that
	// was executed meanwhile, its result is this call's as well.
	Waited string
	// Sending is called in the moment before the call is executed, with the
	// request that was approved for it, if any. Its error keeps the call from
	// being sent, and comes back.
	Sending func(ctx context.Context, requestID string) error
}

// ToolAnswer is what a call came to; one field is set.
type ToolAnswer struct {
	// Result is the tool's own, in MCP's form.
	Result json.RawMessage
	// Waits is the request that has to be answered, or whose running call has to
	// end, before this call can go on; nothing was sent.
	Waits string
	// Ended is a request that ended without a result for this call.
	Ended *approvals.Request
	// Refusal says in words why there is no result.
	Refusal string
}
