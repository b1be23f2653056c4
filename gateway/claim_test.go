package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/policy"
)

// TestTheAgentsClaimIsKept: what the agent says of a call stands beside the question,
// from the argument that the rule names, from _meta, or from what it wrote before. It
// makes no other question of the same call.
func TestTheAgentsClaimIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		settings *policy.ApprovalSettings
		meta     mcp.Meta
		wrote    string
		want     string
	}{
		"nothing":          {},
		"in _meta":         {meta: mcp.Meta{"holm/why": "  the build waits\n"}, want: "the build waits"},
		"in an argument":   {settings: &policy.ApprovalSettings{Claim: "reason"}, meta: mcp.Meta{"holm/why": "other"}, want: "I was asked to"},
		"too long":         {meta: mcp.Meta{"holm/why": strings.Repeat("é", 3000)}, want: strings.Repeat("é", 1000)},
		"no text":          {meta: mcp.Meta{"holm/why": []string{"a"}}},
		"said before":      {wrote: "now I push it", want: "now I push it"},
		"said before that": {wrote: "now I push it", meta: mcp.Meta{"holm/why": "closer"}, want: "closer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{Approval: c.settings})
			una := r.talks("una", policy.User)
			r.permit("record", policy.User)
			agent := r.client(in(una))
			if c.wrote != "" {
				if text, failed := plain(t, agent, "session_send", map[string]any{"sessionId": una.ID, "text": c.wrote}); failed {
					t.Fatal(text)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			params := &mcp.CallToolParams{Name: "mcp__fix__record", Arguments: map[string]any{"line": "x", "reason": "I was asked to"}, Meta: c.meta}
			go func() { _, _ = agent.CallTool(ctx, params) }()
			if got := r.asked(approvals.Pending); got.Claim != c.want {
				t.Errorf("the claim is %q", got.Claim)
			}
		})
	}
}
