package session_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holm/internal/db/dbtest"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
)

func TestEnsureKeepsASessionToItsOwner(t *testing.T) {
	tx := dbtest.Tx(t)
	if _, err := tx.Exec(t.Context(), `INSERT INTO agents (id) VALUES ('main'), ('other')`); err != nil {
		t.Fatal(err)
	}
	mine := session.Session{ID: "mcp:1", AgentID: "main", Kind: session.MCP, RequesterID: "u1", KeyPrefix: "k1"}
	for range 2 {
		if err := session.Ensure(t.Context(), tx, mine); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*session.Session){
		"another agent":     func(s *session.Session) { s.AgentID = "other" },
		"another requester": func(s *session.Session) { s.RequesterID = "u2" },
		"another key":       func(s *session.Session) { s.KeyPrefix = "k2" },
	} {
		foreign := mine
		change(&foreign)
		if err := session.Ensure(t.Context(), tx, foreign); !isNotFound(err) {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
	got, err := session.Get(t.Context(), tx, "main", "mcp:1")
	if diff := cmp.Diff(mine, got, cmpopts.IgnoreFields(session.Session{}, "CreatedAt")); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
	if _, err := session.Get(t.Context(), tx, "other", "mcp:1"); !isNotFound(err) {
		t.Errorf("read by another agent: %v, want not found", err)
	}
}

func TestEnsureRefusesAnAgentThatIsNotThere(t *testing.T) {
	err := session.Ensure(t.Context(), dbtest.Tx(t),
		session.Session{ID: "s", AgentID: "gone", Kind: session.API, RequesterID: "agent:gone"})
	if !isNotFound(err) {
		t.Errorf("%v, want not found", err)
	}
}

func TestListGivesTheNewestOfOneRequester(t *testing.T) {
	w := newWorld(t)
	w.ensure(session.Session{ID: "s3", AgentID: "main", Kind: session.Chat, RequesterID: "u1"})
	w.exec(`UPDATE sessions SET created_at = now() - interval '1 hour' WHERE id = 's1'`)
	for _, c := range []struct {
		requester string
		limit     int
		want      []string
	}{
		{"", 10, []string{"s3", "s2", "s1"}},
		{"", 2, []string{"s3", "s2"}},
		{"agent:main", 10, []string{"s2", "s1"}},
		{"u1", 10, []string{"s3"}},
		{"nobody", 10, nil},
	} {
		list, err := session.List(context.Background(), w.pool, "main", c.requester, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		if diff := cmp.Diff(c.want, ids); diff != "" {
			t.Errorf("requester %q, limit %d (-want +got):\n%s", c.requester, c.limit, diff)
		}
	}
}

// What callers sent must come back as it was, also what jsonb would not take.
func TestPayloadsAreKeptAsTheyAre(t *testing.T) {
	w := newWorld(t)
	const odd = `{"nul":"\u0000","big":9007199254740993,"huge":1e999999,"z":1,"a":2}`
	w.put("s1", json.RawMessage(odd))
	r := w.read("s1", 0)
	r.ids(1)
	if got := string(r.events()[0].Payload); got != odd {
		t.Errorf("payload %s, want %s", got, odd)
	}
}

func isNotFound(err error) bool {
	e, ok := fault.As(err)
	return ok && e.Kind == fault.NotFound
}

// A key's session goes on through a merge, and through its undoing.
func TestASessionFollowsItsKeyThroughMerges(t *testing.T) {
	tx := dbtest.Tx(t)
	for _, sql := range []string{
		`INSERT INTO agents (id) VALUES ('main')`,
		`INSERT INTO users (id, name) VALUES ('old', 'Old'), ('live', 'Live')`,
		`INSERT INTO agent_keys (prefix, agent_id, hash, user_id) VALUES ('k1', 'main', 'h', 'old')`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	as := func(id, requester string) error {
		return session.Ensure(t.Context(), tx, session.Session{ID: id, AgentID: "main", Kind: session.Key, RequesterID: requester, KeyPrefix: "k1"})
	}
	sessions := func(requester string) int {
		list, err := session.List(t.Context(), tx, "main", requester, 9)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	check := func(when string, err error, old, live int) {
		t.Helper()
		if gotOld, gotLive := sessions("old"), sessions("live"); err != nil || gotOld != old || gotLive != live {
			t.Errorf("%s: error %v, old sees %d, live %d; want %d and %d", when, err, gotOld, gotLive, old, live)
		}
	}
	check("at first", as("key:k1", "old"), 1, 0)
	m, err := identity.MergeUsers(t.Context(), tx, "old", "live", "admin")
	if err != nil {
		t.Fatal(err)
	}
	check("merged", as("key:k1", "live"), 1, 1)
	check("merged, begun anew", as("mcp:1", "live"), 2, 2)
	if _, err := identity.UndoMerge(t.Context(), tx, m.Number, "admin"); err != nil {
		t.Fatal(err)
	}
	check("undone", as("key:k1", "old"), 1, 1)
	check("undone, going on", as("mcp:1", "old"), 2, 0)
	if err := as("key:k1", "live"); !isNotFound(err) {
		t.Errorf("somebody else with that key: %v", err)
	}
}
