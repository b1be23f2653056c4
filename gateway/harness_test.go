package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/gateway"
	"holm/gateway/builtin"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
	"holm/internal/intake"
	"holm/internal/jobs"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/testkit/upstreamfixture"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

func TestMain(m *testing.M) {
	upstreamfixture.RunIfAsked()
	dbtest.Main(m)
}

// rig is a gateway on a real database with the fixture as upstream "fix".
type rig struct {
	t         *testing.T
	pool      *pgxpool.Pool
	hub       *wake.Hub
	rules     *rulestore.Store
	approvals *approvals.Service
	keyring   *identity.Keyring
	servers   *servers.Store
	gateway   *gateway.Gateway
	url       string
	key       string
	log       string
	// most is how many calls may be open and wait at one time, 0 for the defaults.
	most int
	// realtime is how long the gateway's dialogs wait.
	realtime time.Duration
	stop     func()
}

const agentName = "bot"

// newRig starts everything; the agent "bot" has one key and no rows.
func newRig(t *testing.T, modes ...string) *rig {
	t.Helper()
	return newRigOn(t, dbtest.DB(t), modes...)
}

// newRigOn is newRig with a pool of the test's making.
func newRigOn(t *testing.T, pool *pgxpool.Pool, modes ...string) *rig {
	t.Helper()
	return newRigFor(t, pool, 0, modes...)
}

// newRigFor is newRigOn for so many calls at one time.
func newRigFor(t *testing.T, pool *pgxpool.Pool, most int, modes ...string) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{t: t, pool: pool, most: most, realtime: 10 * time.Minute}
	r.boot()
	ctx := context.Background()
	r.tx(func(tx pgx.Tx) (err error) {
		if _, err := identity.CreateAgent(ctx, tx, agentName, "test"); err != nil {
			return err
		}
		r.key, err = identity.CreateKey(ctx, tx, agentName, "", nil, "test")
		return err
	})
	command, err := upstreamfixture.Command()
	if err != nil {
		t.Fatal(err)
	}
	r.log = filepath.Join(t.TempDir(), "calls")
	env := upstreamfixture.Options{Modes: modes, Log: r.log}.Env()
	if _, err := r.servers.Add(ctx, servers.Server{Name: "fix", Command: command, Env: env}, "test"); err != nil {
		t.Fatal(err)
	}
	return r
}

// boot makes the parts of one process and runs them until the test ends or
// r.stop is called.
func (r *rig) boot() {
	t, log := r.t, slog.New(slog.NewTextHandler(io.Discard, nil))
	keeper, err := secret.New("a secret key for tests")
	if err != nil {
		t.Fatal(err)
	}
	r.hub = wake.New(r.pool, log)
	r.rules = rulestore.New(r.pool, r.hub, log)
	r.keyring = identity.NewKeyring(r.pool)
	r.servers = &servers.Store{Pool: r.pool, Hub: r.hub, Secret: keeper}
	queue, err := jobs.New(jobs.Config{Pool: r.pool, Hub: r.hub, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	r.approvals = approvals.New(approvals.Config{Pool: r.pool, Hub: r.hub, Rules: r.rules, Jobs: queue, Log: log,
		MaxOpenPerSession: r.most, MaxOpenPerRequester: r.most, MaxAsksPerMinute: r.most})
	r.gateway, err = gateway.New(gateway.Config{
		Pool: r.pool, Hub: r.hub, Rules: r.rules, Approvals: r.approvals, Keyring: r.keyring,
		Servers: r.servers, Log: log, Version: "test", Realtime: r.realtime,
		MaxHoldsPerKey: r.most, Intake: intake.New(intake.Limits{Requests: 2 * r.most}),
		Builtins: builtin.All(builtin.Config{
			Pool: r.pool, Hub: r.hub, Rules: r.rules, Approvals: r.approvals,
			Tools: func(ctx context.Context) []policy.ToolInfo { return r.gateway.Tools(ctx) },
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = r.hub.Run(ctx) })
	parts.Go(func() { _ = r.rules.Run(ctx) })
	parts.Go(func() { _ = r.keyring.Run(ctx, r.hub) })
	parts.Go(func() { _ = r.gateway.Run(ctx) })
	mux := http.NewServeMux()
	mux.Handle("/mcp", r.gateway)
	server := httptest.NewServer(mux)
	r.url = server.URL + "/mcp"
	r.stop = sync.OnceFunc(func() {
		server.CloseClientConnections()
		cancel()
		server.Close()
		parts.Wait()
	})
	t.Cleanup(r.stop)
}

func (r *rig) tx(do func(tx pgx.Tx) error) {
	r.t.Helper()
	if err := db.InTx(context.Background(), r.pool, do); err != nil {
		r.t.Fatal(err)
	}
}

// put stores a row of the agent, for everybody unless it says for whom.
func (r *rig) put(row policy.Row) {
	r.t.Helper()
	row.AgentID = agentName
	if row.Grants == nil {
		row.Grants = []policy.Grant{policy.Any()}
	}
	r.tx(func(tx pgx.Tx) error {
		_, err := rulestore.Put(context.Background(), tx, row, "test")
		return err
	})
	r.rules.Changed(agentName)
}

// rule stores a row for everybody on a tool of the fixture.
func (r *rig) rule(tool string, effect policy.Effect, scope policy.Scope) {
	r.t.Helper()
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__" + tool, Effect: effect, Scope: scope})
}

// client is an SDK client of the legacy era.
func (r *rig) client(headers map[string]string) *mcp.ClientSession {
	r.t.Helper()
	return r.clientWith(headers, nil)
}

// clientWith is client with options of its own.
func (r *rig) clientWith(headers map[string]string, options *mcp.ClientOptions) *mcp.ClientSession {
	r.t.Helper()
	all := map[string]string{"Authorization": "Bearer " + r.key}
	for name, value := range headers {
		all[name] = value
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := c.Connect(r.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: r.url, HTTPClient: &http.Client{Transport: headerTransport(all)}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = session.Close() })
	return session
}

type headerTransport map[string]string

func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// reply is what a tool call gave, text and structured part.
type reply struct {
	Text    string
	IsError bool
	Kind    string
	Err     error
}

func call(ctx context.Context, s *mcp.ClientSession, tool string, args any) reply {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "mcp__fix__" + tool, Arguments: args})
	if err != nil {
		return reply{Err: err}
	}
	got := reply{IsError: result.IsError}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			got.Text += text.Text
		}
	}
	if m, ok := result.StructuredContent.(map[string]any); ok {
		got.Kind, _ = m["error_type"].(string)
	}
	return got
}

// later runs a call beside the test.
func later(ctx context.Context, s *mcp.ClientSession, tool string, args any) <-chan reply {
	done := make(chan reply, 1)
	go func() { done <- call(ctx, s, tool, args) }()
	return done
}

// asked waits for the newest request to be in the given status.
func (r *rig) asked(status approvals.Status) approvals.Request {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		list, err := approvals.List(context.Background(), r.pool, agentName, approvals.Filter{})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(list) > 0 && list[0].Status == status {
			return list[0]
		}
	}
	r.t.Fatalf("no request became %s", status)
	return approvals.Request{}
}

func (r *rig) decide(request approvals.Request, approve bool, resolution policy.Resolution, reason string) {
	r.t.Helper()
	_, err := r.approvals.Decide(context.Background(), approvals.Decision{
		AgentID: agentName, RequestID: request.ID, Approve: approve, Resolution: resolution, Reason: reason,
		Actor: approvals.Actor{Admin: true, Name: "operator", Via: "test"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// ran gives the argument lines that reached the upstream's record tool.
func (r *rig) ran() []string {
	r.t.Helper()
	b, err := os.ReadFile(r.log)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// post sends raw bytes as one message and gives status and body.
func (r *rig) post(headers map[string]string, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.url, bytes.NewReader([]byte(body)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+r.key)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// modern sends one request of protocol 2026-07-28 and gives the JSON-RPC answer.
func (r *rig) modern(method, name string, params map[string]any) map[string]json.RawMessage {
	r.t.Helper()
	return r.modernWith(nil, method, name, params)
}

// modernWith is modern with headers of its own.
func (r *rig) modernWith(more map[string]string, method, name string, params map[string]any) map[string]json.RawMessage {
	r.t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		r.t.Fatal(err)
	}
	headers := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Holm-Hold": "0s"}
	if name != "" {
		headers["Mcp-Name"] = name
	}
	maps.Copy(headers, more)
	_, text := r.post(headers, string(body))
	for _, line := range strings.Split(text, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text = data
		}
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		r.t.Fatalf("answer %q: %v", text, err)
	}
	return answer
}
