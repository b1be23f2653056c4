package policy_test

import (
	"slices"
	"strings"
	"testing"

	"holm/policy"
)

// TestAsksAreAllRowsWhateverWasApproved: an approval takes none away, and the default
// counts where nothing else has a say about the tool.
func TestAsksAreAllRowsWhateverWasApproved(t *testing.T) {
	row := func(id, kind, key string, effect policy.Effect) policy.Row {
		return policy.Row{ID: id, AgentID: "main", ResourceType: kind, ResourceKey: key, Effect: effect, Grants: []policy.Grant{policy.Any()}}
	}
	always := func(id, approves string) policy.Row {
		r := row(id, "tool", "mcp__git__push", policy.Allow)
		r.Grants, r.Origin, r.Scope.Approves = []policy.Grant{policy.ToUser("ann")}, policy.OriginApproval, approves
		return r
	}
	guests := row("guests", "tool", "mcp__git__push", policy.RequireApproval)
	guests.Grants = []policy.Grant{policy.ToRole(policy.Guest)}
	tool, server := row("tool", "tool", "mcp__git__*", policy.RequireApproval), row("server", "mcp", "git", policy.RequireApproval)
	file := row("file", "file", "/srv", policy.RequireApproval)
	for name, c := range map[string]struct {
		rows      []policy.Row
		want      []string
		byDefault bool
	}{
		"no row":              {nil, nil, true},
		"an answered default": {[]policy.Row{always("a", "default")}, nil, true},
		"a row and a server":  {[]policy.Row{tool, server, guests}, []string{"tool", "server"}, false},
		"answered ones":       {[]policy.Row{tool, server, always("a", "tool"), always("b", "server")}, []string{"tool", "server"}, false},
		"a file, twice":       {[]policy.Row{row("allow", "tool", "*", policy.Allow), file}, []string{"file"}, false},
		"a file, by default":  {[]policy.Row{file}, []string{"file"}, true},
		"an allow":            {[]policy.Row{row("allow", "tool", "mcp__git__push", policy.Allow)}, nil, false},
		"a deny":              {[]policy.Row{row("deny", "tool", "mcp__git__push", policy.Deny)}, nil, false},
	} {
		set, err := policy.Compile("main", c.rows, policy.Options{Default: policy.RequireApproval})
		if err != nil {
			t.Fatal(err)
		}
		rows, byDefault := set.Asks(policy.Request{
			Principal: policy.Principal{AgentID: "main", UserID: "ann", Role: policy.User}, Tool: "mcp__git__push", Server: "git",
			Resources: []policy.Resource{{Type: "file", Sandbox: "default", Mode: "read", Path: "/srv/a"}, {Type: "file", Sandbox: "default", Mode: "read", Path: "/srv/b"}},
		})
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, c.want) || byDefault != c.byDefault {
			t.Errorf("%s: %v, by default %v; want %v, %v", name, got, byDefault, c.want, c.byDefault)
		}
	}
	set, err := policy.Compile("main", []policy.Row{tool}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, _ := set.Asks(policy.Request{Principal: policy.Principal{AgentID: "other"}, Tool: "mcp__git__push"}); rows != nil {
		t.Errorf("of another agent: %v", rows)
	}
}

// TestAnApprovalIsForTheToolAsItWasDefined: what it left answers for no other
// definition, nor for a tool whose definition is not known.
func TestAnApprovalIsForTheToolAsItWasDefined(t *testing.T) {
	first, second := strings.Repeat("a", 64), strings.Repeat("b", 64)
	rows := []policy.Row{
		{ID: "ask", AgentID: "main", ResourceType: "tool", ResourceKey: "mcp__git__push", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()}},
		{ID: "always", AgentID: "main", ResourceType: "tool", ResourceKey: "mcp__git__push", Effect: policy.Allow, Grants: []policy.Grant{policy.ToUser("ann")},
			Origin: policy.OriginApproval, Scope: policy.Scope{Approves: "ask", Definition: first}},
	}
	set, err := policy.Compile("main", rows, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ann := policy.Principal{AgentID: "main", UserID: "ann", Role: policy.User}
	for definition, want := range map[string]policy.Effect{first: policy.Allow, second: policy.RequireApproval, "": policy.RequireApproval} {
		req := policy.Request{Principal: ann, Tool: "mcp__git__push", Server: "git", Definition: definition}
		if got := set.Evaluate(req); got.Decision != want {
			t.Errorf("of definition %.4q: %s, want %s", definition, got.Decision, want)
		}
		e := set.Explain(req)
		if near := slices.ContainsFunc(e.Near, func(r policy.Reason) bool { return strings.Contains(r.Why, "as it was defined and served then") }); near != (want != policy.Allow) {
			t.Errorf("of definition %.4q: %+v", definition, e.Near)
		}
		able := set.Capabilities(ann, []policy.Tool{{Name: "mcp__git__push", Server: "git", Definition: definition}})
		if (len(able) == 1) != (want == policy.Allow) {
			t.Errorf("of definition %.4q it is handed out: %v", definition, able)
		}
	}
	rows[1].Origin = ""
	if err := rows[1].Validate(); err == nil {
		t.Error("a person's row has a definition")
	}
	rows[1].Origin, rows[1].Scope.Definition = policy.OriginApproval, "latest"
	if err := rows[1].Validate(); err == nil {
		t.Error("a definition is no digest")
	}
}
