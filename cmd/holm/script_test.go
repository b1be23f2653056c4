package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/rogpeppe/go-internal/testscript"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/audit"
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

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holm": main})
}

// TestScripts runs the holm command as its users do, against a server with a
// database of its own for each script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			s, err := startScripted(t)
			if err != nil {
				return err
			}
			env.Values[scriptedKey{}] = s
			env.Setenv("HOLM_URL", s.url)
			env.Setenv("HOLM_ADMIN_TOKEN", scriptedToken)
			env.Setenv("HOLM_DATA_DIR", env.WorkDir+"/data")
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": exitsWith, "field": setFromField, "ask": askFor, "person": makePerson, "stop": stopServer,
			"chain": chainRecords, "sql": runSQL, "await": awaitRequest,
		},
	})
}

const scriptedToken = "the-admin-token-of-scripts"

type scriptedKey struct{}

// scripted is the server of one script.
type scripted struct {
	url       string
	close     func()
	pool      *pgxpool.Pool
	approvals *approvals.Service
}

func startScripted(t *testing.T) (*scripted, error) {
	pool := dbtest.DB(t)
	log := slog.New(slog.DiscardHandler)
	hub := wake.New(pool, log)
	keeper, err := secret.New("the-secret-key-of-scripts")
	if err != nil {
		return nil, err
	}
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: db.RiverSchema})
	if err != nil {
		return nil, err
	}
	rules := rulestore.New(pool, hub, log)
	service := approvals.New(approvals.Config{Pool: pool, Hub: hub, Rules: rules, Jobs: jobs, Log: log})
	keyring, store := identity.NewKeyring(pool), &servers.Store{Pool: pool, Hub: hub, Secret: keeper}
	gate, err := gateway.New(gateway.Config{Pool: pool, Hub: hub, Rules: rules, Approvals: service, Keyring: keyring, Servers: store, Log: log})
	if err != nil {
		return nil, err
	}
	handler, err := httpapi.New(httpapi.Config{
		Pool: pool, Hub: hub, Approvals: service, Rules: rules, Keyring: keyring, Servers: store,
		AdminToken: scriptedToken, Log: log, Enforce: enforceAt(gate),
		Tools: func(context.Context) (all []policy.ToolInfo) {
			for _, name := range []string{"policy_list", "policy_set", "exec"} {
				all = append(all, policy.ToolInfo{Tool: policy.Tool{Name: name}})
			}
			for tool, schema := range map[string]string{
				"log":  `{"type":"object","properties":{"path":{"type":"string"},"author":{"type":"object","properties":{"name":{"type":"string"}}}}}`,
				"push": `{"type":"object","properties":{"branch":{"type":"string"},"remotes":{"type":"array","items":{"type":"object","properties":{"url":{}}}}},"additionalProperties":false}`,
				"open": `{"type":"object","properties":{"x":{}},"additionalProperties":{"type":"string"}}`,
			} {
				all = append(all, policy.ToolInfo{Tool: policy.Tool{Name: "mcp__git__" + tool, Server: "git"}, InputSchema: json.RawMessage(schema)})
			}
			return all
		},
		Links: func(_ context.Context, token string) map[string]httpapi.Link {
			return map[string]httpapi.Link{
				"telegram": {URL: "https://t.me/holm_bot?start=" + token},
				"slack":    {Hint: "send the bot: link " + token},
			}
		},
		ServerStatus: func(_ context.Context, name string) (httpapi.ServerStatus, bool) {
			if name == "lost" {
				return httpapi.ServerStatus{State: "down"}, true
			}
			return httpapi.ServerStatus{State: "up", Tools: []string{"log", "push"}, Stderr: []string{"ready\x1b[2J"}}, true
		},
		TestChannels: func(context.Context, httpapi.ChannelTest) ([]httpapi.ChannelReached, error) { return nil, nil },
		Channels: func(context.Context) ([]httpapi.ChannelHealth, error) {
			return []httpapi.ChannelHealth{{Namespace: "telegram", AgentID: "main", Connected: true, Account: "@holm_bot"}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for _, run := range []func(context.Context) error{hub.Run, rules.Run, gate.Run} {
		parts.Go(func() { _ = run(ctx) })
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() { server.Close(); stop(); parts.Wait() })
	return &scripted{url: server.URL, close: server.Close, pool: pool, approvals: service}, nil
}

func scriptedOf(ts *testscript.TestScript) *scripted { return ts.Value(scriptedKey{}).(*scripted) }

// exitsWith: code N command args… runs a command that must end with N.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if neg || got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// setFromField: field NAME VAR sets a variable from the JSON object that the
// last command printed.
func setFromField(ts *testscript.TestScript, _ bool, args []string) {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	value, ok := object[args[0]]
	if !ok {
		ts.Fatalf("no field %s", args[0])
	}
	ts.Setenv(args[1], fmt.Sprint(value))
}

// askFor: ask AGENT TOOL ARGS makes a request, as a gated call would.
func askFor(ts *testscript.TestScript, _ bool, args []string) {
	s, ctx := scriptedOf(ts), context.Background()
	var row rulestore.Row
	ts.Check(db.InTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		row, err = rulestore.Put(ctx, tx, policy.Row{
			AgentID: args[0], ResourceType: policy.TypeTool, ResourceKey: args[1],
			Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()},
		}, "test")
		return err
	}))
	parsed, err := policy.ParseArgs(json.RawMessage(args[2]))
	ts.Check(err)
	_, err = s.approvals.Ask(ctx, approvals.Call{
		Session:       session.Session{ID: "key:scripted", AgentID: args[0], Kind: session.Key, RequesterID: "agent:" + args[0]},
		RequesterName: "agent\x1b[31m " + args[0], ResourceType: policy.TypeTool, ResourceKey: args[1], Args: parsed,
		Rule: policy.Row{ID: row.ID, ResourceType: policy.TypeTool, ResourceKey: args[1], Version: row.Version},
	})
	ts.Check(err)
}

// makePerson: person AGENT CHANNEL IDENTITY ROLE.
func makePerson(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	ts.Check(db.InTx(ctx, scriptedOf(ts).pool, func(tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: args[1], Identity: args[2]}, "Mia")
		if err != nil {
			return err
		}
		ts.Setenv("PERSON", user.ID)
		return identity.Join(ctx, tx, args[0], user.ID, policy.Role(args[3]), "test")
	}))
}

// awaitRequest: await AGENT NUMBER waits for a request, and has it approved for
// one call.
func awaitRequest(ts *testscript.TestScript, _ bool, args []string) {
	s, ctx := scriptedOf(ts), context.Background()
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r, err := approvals.GetShort(ctx, s.pool, args[0], number)
		if err == nil {
			_, err = s.approvals.Decide(ctx, approvals.Decision{
				AgentID: args[0], RequestID: r.ID, Approve: true, Resolution: policy.Single,
				Actor: approvals.Actor{Admin: true, Name: "the operator", Via: "test"},
			})
			ts.Check(err)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no request %d: %v", number, err)
		}
	}
}

// chainRecords: chain moves what is recorded into the audit log.
func chainRecords(ts *testscript.TestScript, _ bool, _ []string) {
	s := scriptedOf(ts)
	for {
		n, err := (&audit.Chainer{Pool: s.pool}).Chain(context.Background())
		ts.Check(err)
		if n == 0 {
			return
		}
	}
}

// runSQL: sql STATEMENT, as somebody with the database's password would.
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	_, err := scriptedOf(ts).pool.Exec(context.Background(), args[0])
	ts.Check(err)
}

// stopServer ends the script's server.
func stopServer(ts *testscript.TestScript, _ bool, _ []string) { scriptedOf(ts).close() }

// TestLocalServerIsFound is the way without HOLM_URL: by the data folder.
func TestLocalServerIsFound(t *testing.T) {
	s, err := startScripted(t)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("HOLM_DATA_DIR", dir)
	for _, name := range []string{"HOLM_URL", "HOLM_ADMIN_TOKEN"} {
		t.Setenv(name, "")
	}
	if got := runHolm(t, "list", "agents"); got.code != exitFailed || !contains(got.err, "not running", "holm serve") {
		t.Errorf("before: %+v", got)
	}
	write := func(name, text string) {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("admin_token", scriptedToken+"\n")
	write("server.json", fmt.Sprintf(`{"url":%q,"pid":%d}`, s.url, os.Getpid()))
	if got := runHolm(t, "list", "agents"); got.code != exitDone || !contains(got.out, "No agents yet") {
		t.Errorf("running: %+v", got)
	}
	s.close()
	if got := runHolm(t, "list", "agents"); got.code != exitFailed || !contains(got.err, "no Holm answers") {
		t.Errorf("after: %+v", got)
	}
}

// TestARedirectGetsNoToken: a server may not send the operator's token on.
func TestARedirectGetsNoToken(t *testing.T) {
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	t.Setenv("HOLM_URL", redirecting.URL)
	t.Setenv("HOLM_ADMIN_TOKEN", scriptedToken)
	if got := runHolm(t, "list", "agents"); got.code != exitFailed || asked {
		t.Errorf("%+v; asked elsewhere: %v", got, asked)
	}
}
