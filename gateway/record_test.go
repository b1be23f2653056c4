package gateway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/policy"
)

// records are those of the agent's calls, each in one line.
func (r *rig) records() []string {
	r.t.Helper()
	rows, err := r.pool.Query(r.t.Context(), `
		SELECT concat_ws(' ', kind, actor, data ->> 'server', data ->> 'tool', data ->> 'decision', data ->> 'step', data ->> 'outcome',
		                 'ended=' || (data ->> 'ms' IS NOT NULL), 'rule=' || (data ->> 'ruleId' IS NOT NULL),
		                 'version=' || (data ->> 'policyVersion' IS NOT NULL), 'session=' || (data ->> 'sessionId' LIKE 'key:%'))
		FROM audit_queue
		WHERE kind LIKE 'call_d%' OR kind LIKE 'call_com%'
		ORDER BY id`)
	if err != nil {
		r.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.t.Fatal(err)
	}
	return lines
}

// Each decision and each end is on record, with what decided and where, also
// that of a tool that is not there.
func TestCallsAreOnRecord(t *testing.T) {
	r := newRig(t)
	r.rule("echo", policy.Allow, policy.Scope{})
	r.rule("record", policy.Allow, policy.Scope{Args: []policy.Condition{{Arg: "path", Match: policy.MatchGlob, Pattern: "/srv/**"}}})
	for _, tool := range []string{"echo", "record", "nothing"} {
		r.modern("tools/call", "mcp__fix__"+tool, map[string]any{"name": "mcp__fix__" + tool, "arguments": map[string]any{"path": "/etc"}})
	}
	actor := "agent:" + agentName
	want := []string{
		"call_decided " + actor + " fix echo allow allow ended=false rule=true version=true session=true",
		"call_completed " + actor + " fix echo succeeded ended=true rule=true version=true session=true",
		"call_decided " + actor + " fix record deny no_grant ended=false rule=false version=true session=true",
		"call_decided " + actor + " mcp__fix__nothing deny unknown_tool ended=false rule=false version=false session=true",
	}
	if diff := cmp.Diff(want, r.records()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var calls, ends int
	err := r.pool.QueryRow(t.Context(), `
		SELECT count(DISTINCT data ->> 'callId'), count(*) FILTER (WHERE kind = 'call_completed')
		FROM audit_queue
		WHERE kind IN ('call_decided', 'call_completed')`).Scan(&calls, &ends)
	if err != nil || calls != 3 || ends != 1 {
		t.Errorf("%d calls with %d ends, error %v", calls, ends, err)
	}
}

// The trace of a call is in all that it leaves, the request for approval too.
func TestTheTraceOfACallIsOnRecord(t *testing.T) {
	const inHeader, inMessage = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	ask := func(arguments, meta string) {
		r.post(map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "mcp__fix__record",
			"Holm-Hold": "0s", "Traceparent": "00-" + inHeader + "-00f067aa0ba902b7-01"},
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":`+arguments+`,"_meta":{`+meta+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	}
	ask(`{"n":1}`, "")
	ask(`{"n":2}`, `"traceparent":"00-`+inMessage+`-00f067aa0ba902b7-01",`)
	r.asked(approvals.Pending)
	rows, err := r.pool.Query(t.Context(), `
		SELECT kind || ' ' || (data ->> 'traceId')
		FROM audit_queue
		WHERE kind IN ('call_decided', 'approval_requested')
		ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"call_decided " + inHeader, "approval_requested " + inHeader, "call_decided " + inMessage, "approval_requested " + inMessage}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
