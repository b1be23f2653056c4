package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/internal/servers"
	"holm/internal/testkit/upstreamfixture"
	"holm/policy"
)

// server registers a further fixture.
func (r *rig) server(name string, modes ...string) {
	r.t.Helper()
	command, err := upstreamfixture.Command()
	if err != nil {
		r.t.Fatal(err)
	}
	env := upstreamfixture.Options{Modes: modes}.Env()
	if _, err := r.servers.Add(context.Background(), servers.Server{Name: name, Command: command, Env: env}, "test"); err != nil {
		r.t.Fatal(err)
	}
}

// row stores a row on a tool for everybody.
func (r *rig) row(key string, effect policy.Effect) {
	r.t.Helper()
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: key, Effect: effect})
}

// TestSlowStartHoldsNobodyElseUp: a server that does not finish its handshake
// delays calls of its own tools alone.
func TestSlowStartHoldsNobodyElseUp(t *testing.T) {
	r := newRig(t)
	r.server("hang", upstreamfixture.SilentStart)
	r.rule("echo", policy.Allow, policy.Scope{})
	r.row("mcp__hang__echo", policy.Allow)
	session := r.client(nil)

	ctx, cancel := context.WithCancel(t.Context())
	hanging := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "mcp__hang__echo"})
		hanging <- err
	}()
	for range 3 {
		if got := call(t.Context(), session, "echo", map[string]any{"a": 1}); got.Err != nil || got.IsError {
			t.Fatalf("got %+v", got)
		}
	}
	select {
	case err := <-hanging:
		t.Errorf("the calls waited until the server that hangs was given up (%v)", err)
	default:
	}
	cancel()
	<-hanging
}

// TestHiddenIsUnknown: one answer for a tool that a deny hides and for one that
// never was, whatever state its server is in and whichever protocol asks.
func TestHiddenIsUnknown(t *testing.T) {
	for name, mode := range map[string]string{"up": upstreamfixture.StdoutNoise, "down": upstreamfixture.CrashAtStart} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.server("srv", mode)
			r.row("mcp__srv__*", policy.Allow)
			r.row("mcp__srv__crash", policy.Deny)
			r.row("mcp__srv__b*", policy.Deny)
			session := r.client(map[string]string{"Holm-Hold": "0s"})
			if _, err := session.ListTools(t.Context(), nil); err != nil { // the server is up, or known to be down
				t.Fatal(err)
			}
			never := answers(t, r, session, "mcp__srv__nevr")
			for _, hidden := range []string{"mcp__srv__crash", "mcp__srv__big"} {
				if diff := cmp.Diff(never, answers(t, r, session, hidden)); diff != "" {
					t.Errorf("%s (-never was +hidden):\n%s", hidden, diff)
				}
			}
		})
	}
}

// answers are what both eras say to a call, with the name taken out.
func answers(t *testing.T, r *rig, session *mcp.ClientSession, name string) []string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{"name": name}})
	if err != nil {
		t.Fatal(err)
	}
	_, legacy := r.post(map[string]string{"Mcp-Session-Id": session.ID(), "MCP-Protocol-Version": "2025-11-25"}, string(body))
	modern, err := json.Marshal(r.modern("tools/call", name, map[string]any{"name": name}))
	if err != nil {
		t.Fatal(err)
	}
	return []string{strings.ReplaceAll(legacy, name, "NAME"), strings.ReplaceAll(string(modern), name, "NAME")}
}
