package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/audit"
	"holm/internal/db/dbtest"
)

func record(t *testing.T, pool *pgxpool.Pool, agent, kind string, data map[string]any) {
	t.Helper()
	err := audit.Write(t.Context(), pool, audit.Record{Kind: kind, AgentID: agent, Actor: "u1", Data: data})
	if err != nil {
		t.Fatal(err)
	}
}

// callsOf are some calls of two agents, in the order in which they were
// recorded.
func callsOf(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	call := func(agent, kind, id, server, more string) {
		t.Helper()
		data := map[string]any{"callId": id, "server": server, "tool": "push", "resourceKey": "mcp__" + server + "__push", "nul": "\x00"}
		for pair := range strings.FieldsSeq(more) {
			name, value, _ := strings.Cut(pair, "=")
			data[name] = value
		}
		record(t, pool, agent, kind, data)
	}
	call("main", "call_decided", "c1", "git", "decision=allow ruleId=r1")
	call("main", "call_decided", "c2", "git", "decision=allow") // its process died
	call("other", "call_decided", "c3", "web", "decision=deny step=deny ruleId=r2")
	call("main", "call_completed", "c1", "git", "outcome=succeeded ruleId=r1")
	call("main", "call_decided", "c4", "web", "decision=require_approval")
	record(t, pool, "main", "approval_requested", map[string]any{"requestId": "q", "shortId": 7, "resourceKey": "mcp__web__fetch", "ruleId": "r3"})
	record(t, pool, "main", "approval_approved", map[string]any{"requestId": "q", "shortId": 7, "resourceKey": "mcp__web__fetch"})
	record(t, pool, "main", "call_finished", map[string]any{"requestId": "q", "shortId": 7, "resourceKey": "mcp__web__fetch", "outcome": "outcome_unknown"})
	call("main", "call_decided", "c5", "", "decision=allow via=enforce")
	call("main", "policy_set", "", "", "")
	chained(t, chainer(pool))
}

func shown(calls []audit.Call) string {
	var lines []string
	for _, c := range calls {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s %s", c.AgentID, c.Server, c.Tool, c.Status, c.Why)))
	}
	return strings.Join(lines, "\n")
}

func TestTheLogOfCalls(t *testing.T) {
	pool := dbtest.DB(t)
	callsOf(t, pool)
	for name, c := range map[string]struct {
		filter audit.CallFilter
		want   string
	}{
		"all": {audit.CallFilter{}, `main git/push unfinished
other web/push denied deny
main git/push allowed
main web/fetch approval a person was asked
main web/fetch error outcome unknown
main /push allowed`},
		"the newest":  {audit.CallFilter{Limit: 2}, "main web/fetch error outcome unknown\nmain /push allowed"},
		"one agent":   {audit.CallFilter{AgentID: "other"}, "other web/push denied deny"},
		"one server":  {audit.CallFilter{Server: "git"}, "main git/push unfinished\nmain git/push allowed"},
		"one status":  {audit.CallFilter{Status: audit.Failed}, "main web/fetch error outcome unknown"},
		"nothing":     {audit.CallFilter{Server: "none"}, ""},
		"combination": {audit.CallFilter{AgentID: "main", Server: "web", Status: audit.Asked}, "main web/fetch approval a person was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.filter.Limit == 0 {
				c.filter.Limit = 50
			}
			calls, next, err := audit.LastCalls(t.Context(), pool, c.filter)
			if err != nil || next != 10 {
				t.Fatalf("next %d, error %v", next, err)
			}
			if got := shown(calls); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// What is followed comes once and whole, however it is cut into parts.
func TestTheLogIsFollowedInParts(t *testing.T) {
	pool := dbtest.DB(t)
	callsOf(t, pool)
	for _, limit := range []int{1, 2, 50} {
		var all []audit.Call
		for after := int64(0); ; {
			part, next, err := audit.CallsAfter(t.Context(), pool, after, audit.CallFilter{AgentID: "main", Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 {
				break
			}
			all, after = append(all, part...), next
		}
		want := "main git/push allowed\nmain web/fetch approval a person was asked\nmain web/fetch error outcome unknown\nmain /push allowed"
		if got := shown(all); got != want {
			t.Errorf("in parts of %d:\n%s", limit, got)
		}
	}
}

func TestALongLogIsReadInPages(t *testing.T) {
	pool := dbtest.DB(t)
	record(t, pool, "main", "call_decided", map[string]any{"callId": "first", "server": "rare", "tool": "x", "decision": "deny"})
	exec(t, pool, `
		INSERT INTO audit_queue (kind, agent_id, data)
		SELECT 'call_decided', 'main', '{"server":"git","tool":"log","decision":"deny"}'
		FROM generate_series(1, 1100)`)
	chained(t, chainer(pool))
	calls, _, err := audit.LastCalls(t.Context(), pool, audit.CallFilter{Server: "rare", Limit: 5})
	if err != nil || len(calls) != 1 || calls[0].CallID != "first" {
		t.Errorf("got %v, error %v", calls, err)
	}
	if calls, next, err := audit.CallsAfter(t.Context(), pool, 0, audit.CallFilter{Limit: 2000}); len(calls) != 1101 || next != 1101 || err != nil {
		t.Errorf("%d calls, next %d, error %v", len(calls), next, err)
	}
}

func TestActorsHaveOneForm(t *testing.T) {
	for id, want := range map[string]string{
		"0198-uuid": "user:0198-uuid", "user:u": "user:u", "agent:main": "agent:main", "admin": "admin", "system": "system", "anonymous": "anonymous", "": "",
	} {
		if got := audit.Actor(id); got != want {
			t.Errorf("%q became %q, want %q", id, got, want)
		}
	}
}

func TestRecordsNameTheirTrace(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for parent, want := range map[string]string{
		"00-" + trace + "-00f067aa0ba902b7-01":                   trace,
		"cc-" + trace + "-00f067aa0ba902b7-01-further":           trace,
		"ff-" + trace + "-00f067aa0ba902b7-01":                   "",
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": "",
		"00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01":  "",
		`00-` + trace + `-00f067aa0ba902b7-01","kind":"x`:        "",
		"": "",
	} {
		if got := audit.TraceOf(audit.WithTrace(context.Background(), parent)); got != want {
			t.Errorf("%q: trace %q, want %q", parent, got, want)
		}
	}
	pool := dbtest.DB(t)
	ctx := audit.WithTrace(t.Context(), "00-"+trace+"-00f067aa0ba902b7-01")
	for _, data := range []any{map[string]any{}, map[string]any{"a": 1}} {
		if err := audit.Write(ctx, pool, audit.Record{Kind: "test", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_queue WHERE data ->> 'traceId' = $1`, trace).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d records name the trace, error %v", n, err)
	}
}
