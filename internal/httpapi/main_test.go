package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/httpapi"
	"holm/internal/identity"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const adminToken = "the-admin-token-of-tests"

// world is a running interface on a database of its own.
type world struct {
	t         *testing.T
	pool      *pgxpool.Pool
	approvals *approvals.Service
	rules     *rulestore.Store
	keeper    *secret.Keeper
	url       string
	log       *bytes.Buffer
	// streamEnded receives when the server has left a stream.
	streamEnded <-chan struct{}
}

// start serves the interface; change may adapt its Config.
func start(t *testing.T, change ...func(*httpapi.Config)) *world {
	t.Helper()
	t.Parallel()
	pool := dbtest.DB(t)
	logged := &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(logged, nil))
	hub := wake.New(pool, log)
	keeper, err := secret.New("the-secret-key-of-tests")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: db.RiverSchema})
	if err != nil {
		t.Fatal(err)
	}
	rules := rulestore.New(pool, hub, log)
	service := approvals.New(approvals.Config{Pool: pool, Hub: hub, Rules: rules, Jobs: jobs, Log: log})
	config := httpapi.Config{
		Pool: pool, Hub: hub, Approvals: service, Rules: rules,
		Keyring: identity.NewKeyring(pool), Servers: &servers.Store{Pool: pool, Hub: hub, Secret: keeper},
		AdminToken: adminToken, Log: log,
		MayApprove: func(_ context.Context, b approvals.Button) (bool, error) { return b.Identity != "@blind", nil },
	}
	for _, f := range change {
		f(&config)
	}
	handler, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = config.Keyring.Run(ctx, hub) })
	t.Cleanup(func() { stop(); running.Wait() })
	ended := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/events") {
			ended <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	return &world{t: t, pool: pool, approvals: service, rules: rules, keeper: keeper, url: server.URL, log: logged, streamEnded: ended}
}

// in is w for a test inside another.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.t = t
	return &inner
}

// answer is what came back.
type answer struct {
	t       *testing.T
	request string
	status  int
	header  http.Header
	body    string
}

// as sends a request with a credential; extra are further headers, name and
// value in turn.
func (w *world) as(token, method, path, body string, extra ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(extra); i += 2 {
		req.Header.Add(extra[i], extra[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{t: w.t, request: method + " " + path + " " + clip(body), status: resp.StatusCode, header: resp.Header, body: string(text)}
}

func (w *world) admin(method, path, body string, extra ...string) answer {
	w.t.Helper()
	return w.as(adminToken, method, path, body, extra...)
}

// is expects a status, and of a problem also its code.
func (a answer) is(status int, code ...string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("%s: status %d, want %d: %s", a.request, a.status, status, a.body)
	}
	if status < 400 {
		return a
	}
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		a.t.Errorf("a failure of type %q", ct)
	}
	var problem struct {
		Status              int
		Code, Detail, Title string
	}
	a.into(&problem)
	if problem.Status != status || problem.Detail == "" || problem.Title == "" || len(code) == 1 && problem.Code != code[0] {
		a.t.Errorf("%s: problem %s, want code %v", a.request, a.body, code)
	}
	return a
}

func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		a.t.Fatalf("%v in %q", err, a.body)
	}
}

// field gives one member of an object as text.
func (a answer) field(name string) string {
	a.t.Helper()
	var object map[string]any
	a.into(&object)
	text, _ := object[name].(string)
	return text
}

// agent makes an agent and gives its key.
func (w *world) agent(name string) (key string) {
	w.t.Helper()
	return w.admin("POST", "/api/agents", `{"name":"`+name+`"}`).is(201).field("key")
}

// ask makes a request as a call of the requester would.
func (w *world) ask(agentID, requester, args string) approvals.Request {
	w.t.Helper()
	ctx := context.Background()
	var row rulestore.Row
	err := db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
		row, err = rulestore.Put(ctx, tx, policy.Row{
			AgentID: agentID, ResourceType: policy.TypeTool, ResourceKey: "mcp__git__push",
			Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()},
		}, "test")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	parsed, err := policy.ParseArgs(json.RawMessage(args))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.approvals.Ask(ctx, approvals.Call{
		Session:       session.Session{ID: "key:" + agentID + ":" + requester, AgentID: agentID, Kind: session.Key, RequesterID: requester},
		RequesterName: requester, ResourceType: policy.TypeTool, ResourceKey: "mcp__git__push", Args: parsed,
		Rule: policy.Row{ID: row.ID, ResourceType: "tool", ResourceKey: "mcp__git__push", Version: row.Version},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// person makes somebody at an address who has a role with an agent.
func (w *world) person(address identity.Address, agentID string, role policy.Role) identity.User {
	w.t.Helper()
	ctx := context.Background()
	var user identity.User
	err := db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
		if user, err = identity.EnsureUser(ctx, tx, address, "Person "+address.Identity); err != nil || role == "" {
			return err
		}
		return identity.Join(ctx, tx, agentID, user.ID, role, "test")
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return user
}

func clip(text string) string {
	if len(text) > 100 {
		return text[:100] + "…"
	}
	return text
}

// askAgain puts the same call as q from another session.
func (w *world) askAgain(q approvals.Request) approvals.Request {
	w.t.Helper()
	r, err := w.approvals.Ask(context.Background(), w.again(q))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// again is the same call as q from another session.
func (w *world) again(q approvals.Request) approvals.Call {
	w.t.Helper()
	args, err := policy.ParseArgs(q.ArgsBytes)
	if err != nil {
		w.t.Fatal(err)
	}
	return approvals.Call{
		Session:       session.Session{ID: "elsewhere", AgentID: q.AgentID, Kind: session.Key, RequesterID: q.RequesterID},
		RequesterName: q.RequesterName, ResourceType: q.ResourceType, ResourceKey: q.ResourceKey, Args: args,
		Rule: policy.Row{ID: q.RuleID, ResourceType: q.ResourceType, ResourceKey: q.ResourceKey, Version: q.Settings.RuleVersion},
	}
}
