package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/policy"
)

func mustScope(t *testing.T, kind, text string) policy.Scope {
	t.Helper()
	scope, err := policy.ParseScope(kind, json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func TestScopeCanonical(t *testing.T) {
	for _, c := range []struct{ name, kind, in, want string }{
		{"empty", "tool", `{}`, `{}`},
		{"absent", "tool", ``, `{}`},
		{"nulls", "tool", `{"args":null}`, `{}`},
		{"match is filled in", "tool", `{"args":[{"pattern":"<x>","arg":"a"}]}`, `{"args":[{"arg":"a","match":"glob","pattern":"<x>"}]}`},
		{
			"conditions have an order and occur once", "tool",
			`{"args":[{"arg":"b","pattern":"1","required":true},{"arg":"b","pattern":"1"},{"arg":"a","match":"regex","pattern":"2"},{"arg":"a","pattern":"3"},{"arg":"a","pattern":"2"},{"arg":"b","pattern":"1"}]}`,
			`{"args":[{"arg":"a","match":"glob","pattern":"2"},{"arg":"a","match":"glob","pattern":"3"},{"arg":"a","match":"regex","pattern":"2"},{"arg":"b","match":"glob","pattern":"1"},{"arg":"b","match":"glob","pattern":"1","required":true}]}`,
		},
		{
			"keys are sorted", "tool",
			`{"approval":{"ttlMinutes":5,"quorum":2,"approvers":[{"value":"ann","type":"user"}]},"approves":"r1"}`,
			`{"approval":{"approvers":[{"type":"user","value":"ann"}],"quorum":2,"ttlMinutes":5},"approves":"r1"}`,
		},
		{"files", "file", `{"path":"/a","mode":"read","sandbox":"s"}`, `{"mode":"read","path":"/a","sandbox":"s"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			scope := mustScope(t, c.kind, c.in)
			got := string(scope.Canonical())
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if again := string(mustScope(t, c.kind, got).Canonical()); again != got {
				t.Errorf("read back it is %s", again)
			}
		})
	}
}

func TestScopeCanonicalLeavesTheScopeAlone(t *testing.T) {
	scope := policy.Scope{Args: []policy.Condition{{Arg: "b", Pattern: "x"}, {Arg: "a", Pattern: "x"}}}
	scope.Canonical()
	want := []policy.Condition{{Arg: "b", Pattern: "x"}, {Arg: "a", Pattern: "x"}}
	if diff := cmp.Diff(want, scope.Args); diff != "" {
		t.Error(diff)
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ name, kind, key, in, want string }{
		{"a file row from its key", "file", "/data//public/", ``, `{"mode":"*","path":"/data/public","sandbox":"*"}`},
		{"a file row keeps what it says", "file", "/x", `{"path":"/a/../b","mode":"write","sandbox":"box"}`, `{"mode":"write","path":"/b","sandbox":"box"}`},
		{"an exec row from its key", "exec", "  git \t log\n", ``, `{"command":"git log\n","sandbox":"*"}`},
		{"an exec row keeps what it says", "exec", "x", `{"command":"*","cwd":"/srv/"}`, `{"command":"*","cwd":"/srv","sandbox":"*"}`},
		{"a tool row has nothing to fill in", "tool", "t", ``, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := policy.Row{
				ID: "a", ResourceType: c.kind, ResourceKey: c.key, Effect: policy.Deny,
				Grants: []policy.Grant{policy.Any()}, Scope: mustScope(t, c.kind, c.in),
			}
			if err := row.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := string(row.Complete().Scope.Canonical()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestApprovalDefaults(t *testing.T) {
	for name, a := range map[string]*policy.ApprovalSettings{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			got := []any{a.TTL(), a.Deadline(), a.Offered(), a.BoundTo(), a.Needed(), a.Panels(), a.RemindAfter(), a.EscalateAfter()}
			want := []any{
				time.Hour, time.Hour, []policy.Resolution{policy.Single, policy.Once, policy.Persistent},
				policy.BindArguments, 1, []policy.Panel{{Approvers: []policy.Grant{policy.ToRole(policy.Owner)}}}, time.Duration(0), time.Duration(0),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestApprovalSettings(t *testing.T) {
	a := mustScope(t, "tool", `{"approval":{"ttlMinutes":5,"deadlineMinutes":20,"resolutions":["once","single"],
		"binding":"resource","quorum":2,"approvers":[{"type":"user","value":"ann"}],"remindAfterMinutes":3,
		"escalateAfterMinutes":10,"escalateTo":[{"type":"role","value":"owner"}],"requireReason":true,"risk":"high","claim":"why"}}`).Approval
	got := []any{
		a.TTL(), a.Deadline(), a.Offered(), a.Offers(policy.Once), a.Offers(policy.Persistent), a.BoundTo(), a.Needed(),
		a.Panels(), a.RemindAfter(), a.EscalateAfter(), a.EscalateTo, a.RequireReason, a.Risk,
	}
	want := []any{
		5 * time.Minute, 20 * time.Minute, []policy.Resolution{policy.Single, policy.Once}, true, false, policy.BindResource, 2,
		[]policy.Panel{{Approvers: []policy.Grant{policy.ToUser("ann")}, EscalateTo: []policy.Grant{policy.ToRole(policy.Owner)}}}, 3 * time.Minute, 10 * time.Minute, []policy.Grant{policy.ToRole(policy.Owner)}, true, policy.RiskHigh,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseGrants(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[{"type":"any"},{"type":"role","value":"user"},{"type":"user","value":"bob"},{"type":"circle","value":"family"}]`, "any role:user user:bob circle:family"},
		{` [] `, ""},
		{`null`, ""},
		{``, ""},
		{`{}`, "grants: must be a list"},
		{`[{"type":"any"}`, "grants: want , or ] in an array (at position 16)"},
		{`[{"type":"any","value":1}]`, "grants[0].value: must be a text"},
		{`[{"type":"any","Value":"x"}]`, "grants[0].Value: unknown field"},
		{`[{"type":"any"},{"type":"everyone"}]`, `grants[1].type: unknown grant "everyone": want any, role, user or circle`},
		{`[{"type":"user","value":"a\u0007"}]`, "grants[0].value: contains a control character (at position 2)"},
		{`[{"type":"user","value":" a"}]`, "grants[0].value: begins or ends with a space"},
		{`[{"type":"circle","value":"` + strings.Repeat("x", 257) + `"}]`, "grants[0].value: is longer than 256 bytes"},
		{`[` + strings.Repeat(`{"type":"any"},`, 1024) + `{"type":"any"}]`, "grants: has 1025 grants, at most 1024 are allowed"},
	} {
		grants, err := policy.ParseGrants(json.RawMessage(c.in))
		var names []string
		for _, g := range grants {
			names = append(names, g.String())
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.80s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestHolds(t *testing.T) {
	p := policy.Principal{AgentID: "main", UserID: "bob", Role: policy.User, Circles: []string{"family"}}
	for _, g := range []policy.Grant{policy.Any(), policy.ToRole(policy.User), policy.ToUser("bob"), policy.ToCircle("family")} {
		if !policy.Holds([]policy.Grant{policy.ToUser("eve"), g}, p) {
			t.Errorf("%s does not hold", g)
		}
	}
	for _, g := range []policy.Grant{policy.ToRole(policy.Owner), policy.ToRole(""), policy.ToUser("agent:main"), policy.ToCircle("work"), {Type: "team", Value: "bob"}} {
		if policy.Holds([]policy.Grant{g}, p) {
			t.Errorf("%s holds", g)
		}
	}
	if policy.Holds(nil, p) {
		t.Error("no grants hold")
	}
}
