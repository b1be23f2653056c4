package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
	"holm/internal/fault"
	"holm/internal/secret"
	"holm/internal/servers"
	"holm/internal/wake"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var ctx = context.Background()

const hidden = "Hunter2-is-the-value"

func newStore(t *testing.T, pool *pgxpool.Pool, key string) *servers.Store {
	t.Helper()
	keeper, err := secret.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return &servers.Store{Pool: pool, Hub: wake.New(pool, slog.New(slog.NewTextHandler(io.Discard, nil))), Secret: keeper}
}

var (
	git = servers.Server{Name: "git", Command: []string{"git-mcp", "--flag", "ä ö"}, Env: map[string]string{"TOKEN": hidden, "A": ""}}
	web = servers.Server{Name: "web", URL: "https://host:8443/mcp?x=1", Headers: map[string]string{"Authorization": "Bearer " + hidden}}
)

func TestServersAreKeptAndForgotten(t *testing.T) {
	st := newStore(t, dbtest.DB(t), "a secret key of the test")
	for _, want := range []servers.Server{web, git} {
		waiter := st.Hub.Wait(servers.Changed)
		added, err := st.Add(ctx, want, "admin")
		if diff := cmp.Diff(want, added, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(servers.Server{}, "Version", "CreatedAt")); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		select {
		case <-waiter.C:
		default:
			t.Error("nobody was told of the new server")
		}
		waiter.Close()
	}
	_, err := st.Add(ctx, git, "admin")
	wantKind(t, err, fault.Conflict, "a name that is taken")

	list, err := st.List(ctx)
	if err != nil || len(list) != 2 || list[0].Name != "git" || list[1].Name != "web" {
		t.Errorf("list %+v, error %v", list, err)
	}
	if err := st.Remove(ctx, "git", "admin", func(pgx.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	wantKind(t, st.Remove(ctx, "git", "admin", func(pgx.Tx) error { return nil }), fault.NotFound, "removing it twice")
	_, err = st.Get(ctx, "git")
	wantKind(t, err, fault.NotFound, "reading it after")
	if got, err := st.Get(ctx, "web"); err != nil || got.Transport() != "http" {
		t.Errorf("the other one: %+v, error %v", got, err)
	}
}

func TestSecretsAreSealedAndNeverShown(t *testing.T) {
	pool := dbtest.DB(t)
	st := newStore(t, pool, "a secret key of the test")
	for _, s := range []servers.Server{git, web} {
		added, err := st.Add(ctx, s, "admin")
		if err != nil {
			t.Fatal(err)
		}
		wire, err := json.Marshal(added.Wire())
		if err != nil || strings.Contains(string(wire), hidden) {
			t.Errorf("the wire form is %s, error %v", wire, err)
		}
	}
	if got := git.Wire(); !cmp.Equal(got.Env, []string{"A", "TOKEN"}) || got.Headers == nil || got.Transport != "stdio" {
		t.Errorf("wire %+v", got)
	}
	for _, table := range []string{"servers", "audit_queue"} {
		var leaks int
		err := pool.QueryRow(ctx, `
			SELECT count(*)
			FROM `+table+` t
			WHERE strpos(t::text, $1) > 0
			   OR strpos(t::text, encode($1::bytea, 'hex')) > 0
			   OR strpos(t::text, encode($1::bytea, 'base64')) > 0`, hidden).Scan(&leaks)
		if err != nil || leaks != 0 {
			t.Errorf("%s shows a secret in %d rows, error %v", table, leaks, err)
		}
	}
}

func TestSealedValuesOpenOnlyWhereTheyBelong(t *testing.T) {
	pool := dbtest.DB(t)
	st := newStore(t, pool, "a secret key of the test")
	for _, s := range []servers.Server{git, web} {
		if _, err := st.Add(ctx, s, "admin"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := newStore(t, pool, "another key of the test").Get(ctx, "git")
	if err == nil || !strings.Contains(err.Error(), "servers/git") || strings.Contains(err.Error(), hidden) {
		t.Errorf("with another key: %v", err)
	}
	if _, err := pool.Exec(ctx, `UPDATE servers SET secrets = (SELECT secrets FROM servers WHERE name = 'git') WHERE name = 'web'`); err != nil {
		t.Fatal(err)
	}
	if got, err := st.Get(ctx, "web"); err == nil {
		t.Errorf("one server has the secrets of another: %v", got.Wire())
	}
}

func TestUnusableServersAreRefused(t *testing.T) {
	pool := dbtest.DB(t)
	st := newStore(t, pool, "a secret key of the test")
	stdio := func(change func(*servers.Server)) servers.Server {
		s := servers.Server{Name: "git", Command: []string{"git-mcp"}}
		change(&s)
		return s
	}
	http := func(url string) servers.Server { return servers.Server{Name: "web", URL: url} }
	header := func(name, value string) servers.Server {
		return servers.Server{Name: "web", URL: "https://host", Headers: map[string]string{name: value}}
	}
	bad := map[string]servers.Server{
		"neither":             {Name: "x"},
		"both":                {Name: "x", Command: []string{"a"}, URL: "https://host"},
		"an empty command":    stdio(func(s *servers.Server) { s.Command = []string{""} }),
		"empty and a url":     {Name: "x", Command: []string{""}, URL: "https://host"},
		"nul in the command":  stdio(func(s *servers.Server) { s.Command = []string{"a", "b\x00c"} }),
		"no text":             stdio(func(s *servers.Server) { s.Command = []string{"\xff"} }),
		"variable name":       stdio(func(s *servers.Server) { s.Env = map[string]string{"A=B": hidden} }),
		"no variable name":    stdio(func(s *servers.Server) { s.Env = map[string]string{"": hidden} }),
		"variable value":      stdio(func(s *servers.Server) { s.Env = map[string]string{"A": hidden + "\x00"} }),
		"header of a command": stdio(func(s *servers.Server) { s.Headers = map[string]string{"A": hidden} }),
		"variable of a url":   {Name: "x", URL: "https://host", Env: map[string]string{"A": hidden}},
		"no scheme":           http("host/mcp"), "another scheme": http("ftp://host"), "a file": http("file:///etc/passwd"),
		"no host": http("https:///mcp"), "no url": http("://"), "credentials": http("https://u:" + hidden + "@host"), "a user": http("https://u@host"),
		"header name": header("A B", hidden), "header with a colon": header("A:", hidden), "no header name": header("", hidden),
		"header line": header("A", hidden+"\r\nB: c"), "header nul": header("A", hidden+"\x00"), "header beyond ascii": header("A", hidden+"ä"),
	}
	for _, name := range []string{"", "2git", "-git", "git_x", "a__b", "a b", "a/b", "ä", "git\n", strings.Repeat("a", 41)} {
		bad[fmt.Sprintf("name %q", name)] = stdio(func(s *servers.Server) { s.Name = name })
	}
	for name, s := range bad {
		_, err := st.Add(ctx, s, "admin")
		wantKind(t, err, fault.Invalid, name)
		if err != nil && strings.Contains(err.Error(), hidden) {
			t.Errorf("%s: the refusal shows a secret: %v", name, err)
		}
	}
	if list, err := st.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("stored %+v, error %v", list, err)
	}
	for _, s := range []servers.Server{
		{Name: strings.Repeat("a", 40), Command: []string{"x", ""}},
		{Name: "A-1", URL: "http://[::1]:80", Headers: map[string]string{"X-Empty": "", "X-Tab": "a\tb"}},
	} {
		if _, err := st.Add(ctx, s, "admin"); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind, why string) {
	t.Helper()
	if e, ok := fault.As(err); !ok || e.Kind != kind {
		t.Errorf("%s: error %v, want kind %d", why, err, kind)
	}
}
