package gateway

import (
	"encoding/json"
	"fmt"
	"time"

	"holm/approvals"
)

// ApprovalRequiredError says that a call waits for a person. The same call
// made again attaches to the same request.
type ApprovalRequiredError struct {
	AgentID   string
	RequestID string
	ShortID   int
	Resource  string
	// Status is pending, or approved while the call is being executed.
	Status    approvals.Status
	ExpiresAt time.Time
	// Executing is true when the approved call is running for another caller.
	Executing bool
	// Reached is whether the question was put into a chat, or is on its way to one.
	Reached bool
	// Changed is what came between the question and an earlier one about the call.
	Changed string
	// Undelivered is true when a minute has passed and it has reached nobody.
	Undelivered bool
}

func (e *ApprovalRequiredError) Error() string {
	return fmt.Sprintf("%s requires approval: request %d is %s", e.Resource, e.ShortID, e.Status)
}

// DeniedError says that policy refuses the call.
type DeniedError struct {
	Resource string
	// Rule names the row that decided, or why none was needed.
	Rule string
}

func (e *DeniedError) Error() string { return fmt.Sprintf("%s is denied: %s", e.Resource, e.Rule) }

// EndedError says that the question ended without an execution, or with one
// whose outcome nobody knows. Each has its own words.
type EndedError struct {
	Request approvals.Request
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("request %d ended: %s", e.Request.ShortID, e.Request.Status)
}

// UnknownToolError says that there is no such tool for this caller.
type UnknownToolError struct{ Name string }

func (e *UnknownToolError) Error() string { return fmt.Sprintf("unknown tool %q", e.Name) }

// UnavailableError says that the upstream does not answer; nothing was sent.
type UnavailableError struct {
	Server string
	Err    error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("server %s is not available: %v", e.Server, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ArgumentsError says that the arguments cannot be judged.
type ArgumentsError struct{ Err error }

func (e *ArgumentsError) Error() string { return fmt.Sprintf("invalid arguments: %v", e.Err) }

func (e *ArgumentsError) Unwrap() error { return e.Err }

// Codes of the answers, outside the ranges that JSON-RPC and MCP reserve.
const (
	codeDenied      = -31001
	codeUnavailable = -31002
	codeApproval    = -31003
	codeLost        = -31004
)

// toolResult is a result in which Holm itself speaks.
type toolResult struct {
	Content           []textContent  `json:"content"`
	StructuredContent map[string]any `json:"structuredContent,omitempty"`
	IsError           bool           `json:"isError"`
	Meta              map[string]any `json:"_meta"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// errorResult renders an answer. The structured part is always in _meta, and
// in structuredContent where the tool promises no schema of its own.
func errorResult(e *entry, text string, structured map[string]any) json.RawMessage {
	r := toolResult{
		Content: []textContent{{"text", text}}, IsError: true,
		Meta: map[string]any{"holm": structured},
	}
	if e == nil || !e.HasOutputSchema {
		r.StructuredContent = structured
	}
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings, numbers and times always encode
	}
	return raw
}
