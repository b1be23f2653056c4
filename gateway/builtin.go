package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
)

// Builtin is a tool that Holm itself serves, under its plain name. Policy
// decides about it as about any other; without rows the grants that
// policy.BuiltinGrants declares hold.
type Builtin struct {
	Name, Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema json.RawMessage
	// Annotations are hints for clients. Optional.
	Annotations *mcp.ToolAnnotations
	// Governs tells that a call changes who may do what. Made on behalf of a person it
	// always needs an owner's approval.
	Governs bool
	// Run executes a call that was let through. Its result is given as JSON,
	// both as text and as structured content, and has to be an object. A
	// fault.Error is told to the caller as a failed result.
	Run func(ctx context.Context, call BuiltinCall) (any, error)
}

// BuiltinCall is one call of a Builtin by a proven caller.
type BuiltinCall struct {
	identity.Caller
	Session session.Session
	Args    json.RawMessage
	// Await holds the call, with signs of life for its client, until the request
	// is answered and its call has ended, or until then; it gives the request as it
	// is afterwards.
	Await func(ctx context.Context, r approvals.Request, until time.Time) (approvals.Request, error)
}

// definition is the tool object of lists.
func (b *Builtin) definition() (json.RawMessage, error) {
	tool := map[string]any{"name": b.Name, "description": b.Description, "inputSchema": b.Schema}
	if b.Annotations != nil {
		tool["annotations"] = b.Annotations
	}
	return json.Marshal(tool)
}

// serve runs a built-in tool.
func (g *Gateway) serve(ctx context.Context, b *Builtin, c *toolCall, args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	value, err := b.Run(ctx, BuiltinCall{
		Caller: c.caller, Session: c.session, Args: args,
		Await: func(ctx context.Context, r approvals.Request, until time.Time) (approvals.Request, error) {
			return g.await(ctx, c, r, until)
		},
	})
	if f, ok := fault.As(err); ok {
		return errorResult(nil, f.Message, map[string]any{"error_type": "TOOL_FAILED", "code": f.Code, "data": f.Data}), nil
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", b.Name, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode result of %s: %w", b.Name, err)
	}
	result, err := json.Marshal(map[string]any{
		"content": []textContent{{"text", string(text)}}, "structuredContent": json.RawMessage(text), "isError": false,
	})
	if err != nil {
		return nil, fmt.Errorf("encode result of %s: %w", b.Name, err)
	}
	return result, nil
}

// indexBuiltins finds them by name.
func indexBuiltins(list []Builtin) (map[string]*Builtin, error) {
	byName := map[string]*Builtin{}
	for _, b := range list {
		if b.Name == "" || b.Run == nil || !json.Valid(b.Schema) || byName[b.Name] != nil {
			return nil, errors.New("gateway: built-in tool " + b.Name + " is incomplete or there twice")
		}
		byName[b.Name] = &b
	}
	return byName, nil
}
