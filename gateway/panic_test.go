package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holm/approvals"
	"holm/gateway"
	"holm/policy"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// count is how often the log holds text.
func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}

// TestPanicIsAnswered: a panic within a call costs that call alone. It has an
// answer in JSON-RPC and one line in the log, with its stack; a claim that it
// came after has an outcome that nobody knows.
func TestPanicIsAnswered(t *testing.T) {
	r := newRig(t)
	log := &journal{}
	g, err := gateway.New(gateway.Config{
		Pool: r.pool, Hub: r.hub, Rules: r.rules, Approvals: r.approvals, Keyring: r.keyring, Servers: r.servers,
		Log: slog.New(slog.NewTextHandler(log, nil)),
		Builtins: []gateway.Builtin{{Name: "explode", Schema: json.RawMessage(`{"type":"object"}`),
			Run: func(context.Context, gateway.BuiltinCall) (any, error) { panic("a fuse") }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) })
	server := httptest.NewServer(g)
	r.url = server.URL
	t.Cleanup(func() { stop(); server.Close(); running.Wait() })
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "explode", Effect: policy.Allow})

	wantInternal := func(body map[string]json.RawMessage) {
		t.Helper()
		if got := string(body["error"]); !strings.Contains(got, `"code":-32603`) || strings.Contains(got, "fuse") {
			t.Errorf("answered %s", got)
		}
	}
	wantInternal(r.modern("tools/call", "explode", map[string]any{"name": "explode"}))
	if log.count("a fuse") != 1 || log.count("level=ERROR") != 1 || log.count("panic_test.go") == 0 {
		t.Errorf("logged %s", log.text.String())
	}
	if answer := r.modern("tools/list", "", map[string]any{}); answer["result"] == nil {
		t.Errorf("the next request was answered %s", answer["error"])
	}

	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "explode", Effect: policy.RequireApproval})
	r.modern("tools/call", "explode", map[string]any{"name": "explode"})
	r.decide(r.asked("pending"), true, policy.Single, "")
	wantInternal(r.modern("tools/call", "explode", map[string]any{"name": "explode"}))
	if got := r.asked("approved"); got.Outcome == nil || *got.Outcome != approvals.Unknown {
		t.Errorf("the claimed call has the outcome %v", got.Outcome)
	}
}
