package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/httpapi"
	"holm/policy"
	"holm/policy/rulestore"
)

// keys names rows by effect and key.
func keys(rows []rulestore.Row) []string {
	list := []string{}
	for _, row := range rows {
		list = append(list, string(row.Effect)+" "+row.ResourceKey)
	}
	return list
}

func wantRows(t *testing.T, what string, got []rulestore.Row, want ...string) {
	t.Helper()
	if list := keys(got); !slices.Equal(list, want) {
		t.Errorf("%s: %q, want %q", what, list, want)
	}
}

const theServer = `{"name":"git","command":["git-server"]}`

// served makes a server that agents are allowed, and asked about, in several ways.
func served(t *testing.T) (w *world, always, open approvals.Request) {
	w = start(t)
	w.agent("main")
	w.admin("POST", "/api/servers", theServer).is(201)
	always, open = w.ask("main", "agent:main", `{"n":1}`), w.ask("main", "agent:main", `{"n":2}`)
	w.admin("POST", reviewPath(always), `{"decision":"approved","resolution":"persistent"}`).is(200)
	for _, row := range []string{
		`{"resourceType":"tool","resourceKey":"mcp__git__*","effect":"allow"`, `{"resourceType":"mcp","resourceKey":"git","effect":"allow"`,
		`{"resourceType":"tool","resourceKey":"mcp__git__tag","effect":"deny"`, `{"resourceType":"tool","resourceKey":"mcp__*","effect":"allow"`,
		`{"resourceType":"tool","resourceKey":"mcp__git-hub__*","effect":"allow"`,
		`{"resourceType":"file","resourceKey":"/srv","effect":"allow","scope":{"sandbox":"git"}`,
	} {
		w.setPolicy(row + `,"grants":[{"type":"any"}],"force":true}`)
	}
	return w, always, open
}

// TestARemovedServerTakesAlongWhatWasGranted: another server of its name is open to
// nobody by it.
func TestARemovedServerTakesAlongWhatWasGranted(t *testing.T) {
	w, always, open := served(t)
	var e approvals.Endings
	w.admin("DELETE", "/api/servers/git", "").is(200).into(&e)
	if len(e.Approvals) != 1 || e.Approvals[0].ID != always.ID || len(e.Requests) != 1 || e.Requests[0].ShortID != open.ShortID {
		t.Errorf("ended %+v, %+v", e.Approvals, e.Requests)
	}
	slices.SortFunc(e.Deleted, func(a, b rulestore.Row) int { return strings.Compare(a.ResourceKey, b.ResourceKey) })
	wantRows(t, "deleted", e.Deleted, "allow /srv", "allow git", "allow mcp__git__*")
	wantRows(t, "kept", e.Kept, "require_approval mcp__git__push", "deny mcp__git__tag")
	wantRows(t, "left", w.policies(""), "allow mcp__*", "allow mcp__git-hub__*", "require_approval mcp__git__push", "deny mcp__git__tag")
	if got := strings.TrimSpace(w.admin("GET", "/api/agents/main/grants", "").is(200).body); got != "[]" {
		t.Errorf("grants %s", got)
	}
	if _, ok, err := w.approvals.Claim(t.Context(), always, w.again(always)); err != nil || ok {
		t.Errorf("the approved call is let through (%v)", err)
	}
	w.admin("POST", reviewPath(open), `{"decision":"approved"}`).is(409, "already_decided")

	var again httpapi.Server
	w.admin("POST", "/api/servers", theServer).is(201).into(&again)
	wantRows(t, "told", again.Rules, "allow mcp__*", "require_approval mcp__git__push", "deny mcp__git__tag")
	w.admin("POST", "/api/servers", `{"name":"new","command":["x"]}`).is(201).into(&again)
	wantRows(t, "told of another", again.Rules, "allow mcp__*")
}

// TestGrantsAreKeptWhereThatIsSaid: rules stay; what was approved was approved about
// the server that is gone.
func TestGrantsAreKeptWhereThatIsSaid(t *testing.T) {
	w, always, _ := served(t)
	var e approvals.Endings
	w.admin("DELETE", "/api/servers/git?keepGrants=true", "").is(200).into(&e)
	wantRows(t, "deleted", e.Deleted)
	wantRows(t, "kept", e.Kept, "allow /srv", "allow git", "allow mcp__git__*", "require_approval mcp__git__push", "deny mcp__git__tag")
	if len(e.Approvals) != 1 || e.Approvals[0].ID != always.ID {
		t.Errorf("ended %+v", e.Approvals)
	}
	for _, row := range w.policies("") {
		if row.Origin == policy.OriginApproval {
			t.Errorf("left %+v", row)
		}
	}
	w.admin("DELETE", "/api/servers/git", "").is(404, "not_found")
}
