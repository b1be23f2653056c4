package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/policy"
)

func TestCompileRefusesItsCallersMistakes(t *testing.T) {
	if _, err := policy.Compile("", nil, policy.Options{}); err == nil || err.Error() != "agentId: is empty" {
		t.Errorf("got %v", err)
	}
	_, err := policy.Compile("main", nil, policy.Options{Default: "maybe"})
	if err == nil || !strings.HasPrefix(err.Error(), `default_decision: unknown effect "maybe"`) {
		t.Errorf("got %v", err)
	}
}

func TestCompileLeavesOutRowsOfOthers(t *testing.T) {
	set, err := policy.Compile("main", []policy.Row{
		{ID: "b", AgentID: "other", ResourceType: "tool", ResourceKey: "t", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}},
		{ID: "a", AgentID: "main", ResourceType: "disk", ResourceKey: "t", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}},
	}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range set.Problems() {
		got = append(got, p.RowID+" "+p.Err.Error())
	}
	want := []string{`a resourceType: unknown type "disk": want tool, mcp, file or exec`, "b agentId: the row belongs to another agent"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t"}); r.Step != policy.StepDefault {
		t.Errorf("a row that was left out decided: %+v", r)
	}
	if set.AgentID() != "main" {
		t.Errorf("the set is of %q", set.AgentID())
	}
}

// A row that a store could not decode has no grants that could be trusted.
func TestUnreadableRowDeniesEverybody(t *testing.T) {
	row := policy.Row{ID: "a", AgentID: "main", ResourceType: "tool", ResourceKey: "t", Effect: policy.Allow, Unreadable: errors.New("no such column")}
	r := evaluate(t, row, policy.Request{Principal: policy.Principal{AgentID: "main", UserID: "ann", Role: policy.Owner}, Tool: "t"})
	if r.Decision != policy.Deny || r.Rule == nil || r.Rule.ID != "a" {
		t.Errorf("got %+v", r)
	}
}

// Rows of the types file and exec have no part in the tool layer, not even broken
// ones.
func TestAreasLeaveTheToolAlone(t *testing.T) {
	set, err := policy.Compile("main", []policy.Row{
		{ID: "a", AgentID: "main", ResourceType: "file", ResourceKey: "exec", Effect: policy.Deny, Grants: []policy.Grant{policy.Any()}},
		{ID: "b", AgentID: "main", ResourceType: "exec", ResourceKey: "exec", Effect: policy.Deny, Grants: []policy.Grant{policy.Any()}},
	}, policy.Options{Default: policy.Allow})
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "exec"}); r.Decision != policy.Allow {
		t.Errorf("got %+v", r)
	}
	if p := set.Problems(); len(p) != 1 || p[0].RowID != "a" || p[0].Err.Error() != "scope.path: must be an absolute path" {
		t.Errorf("got %+v", p)
	}
}

// Rows with one id are a mistake of the store; which is named must not depend on
// the order in which it returns them.
func TestTwinsHaveAnOrder(t *testing.T) {
	one := policy.Row{ID: "a", AgentID: "main", ResourceType: "tool", ResourceKey: "t", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}}
	two := one
	two.Grants = []policy.Grant{policy.ToRole(policy.Owner), policy.Any()}
	req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t"}
	for _, rows := range [][]policy.Row{{one, two}, {two, one}} {
		set, err := policy.Compile("main", rows, policy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Evaluate(req).Rule.Grants; len(got) != 1 {
			t.Errorf("the twin with the grants %v is named", got)
		}
	}
}

func TestRowsOutsideTheSyntaxOfScopes(t *testing.T) {
	sound := policy.Row{ID: "a", ResourceType: "tool", ResourceKey: "t", Effect: policy.Allow}
	for want, change := range map[string]func(*policy.Row){
		"origin: unknown origin":                    func(r *policy.Row) { r.Origin = "guess" },
		"resourceKey: is empty":                     func(r *policy.Row) { r.ResourceKey = "" },
		"resourceKey: is not valid UTF-8":           func(r *policy.Row) { r.ResourceKey = "\xff" },
		"resourceKey: contains a control character": func(r *policy.Row) { r.ResourceKey = "a\nb" },
		"resourceKey: must have from 1 to 4096":     func(r *policy.Row) { r.ResourceType, r.ResourceKey = "file", strings.Repeat("/a", 2049) },
		"scope.cwd: a row of type":                  func(r *policy.Row) { r.Scope.CWD = "/a" },
		"scope.approval.ttlMinutes: must be from 1": func(r *policy.Row) { r.Scope.Approval = &policy.ApprovalSettings{TTLMinutes: -1} },
		"scope.approval.quorum: must be from 1":     func(r *policy.Row) { r.Scope.Approval = &policy.ApprovalSettings{Quorum: -1} },
		"row: cannot be read: lost":                 func(r *policy.Row) { r.Unreadable = errors.New("lost") },
	} {
		row := sound
		change(&row)
		var invalid *policy.InvalidError
		if err := row.Validate(); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := sound.Validate(); err != nil {
		t.Error(err)
	}
}

func TestStepNames(t *testing.T) {
	for step, want := range map[policy.Step]string{0: "unknown", policy.StepDefault: "default", policy.StepForeign: "foreign", 99: "unknown"} {
		if got := step.String(); got != want {
			t.Errorf("step %d is %q, want %q", step, got, want)
		}
	}
	for step := policy.StepDefault; step <= policy.StepInvalid; step++ {
		text, _ := step.MarshalText()
		var back policy.Step
		if err := back.UnmarshalText(text); err != nil || back != step {
			t.Errorf("%q is read as %s: %v", text, back, err)
		}
	}
	if err := new(policy.Step).UnmarshalText([]byte("maybe")); err == nil || err.Error() != `step: unknown step "maybe"` {
		t.Errorf("got %v", err)
	}
}

func TestExplainClipsLongAudiences(t *testing.T) {
	row := policy.Row{ID: "a", AgentID: "main", ResourceType: "tool", ResourceKey: "t", Effect: policy.Allow}
	for i := range 7 {
		row.Grants = append(row.Grants, policy.ToUser(fmt.Sprint("u", i)))
	}
	set, err := policy.Compile("main", []policy.Row{row}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := set.Explain(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t"})
	if want := "speaks for user:u0, user:u1, user:u2, user:u3, user:u4, 2 more, not for this caller"; e.Near[0].Why != want {
		t.Errorf("got %q", e.Near[0].Why)
	}
}

// More keys than the usual may match one call.
func TestManyGlobsMatch(t *testing.T) {
	var rows []policy.Row
	for i := range len("mcp__git__log") + 1 {
		rows = append(rows, policy.Row{
			ID: fmt.Sprintf("r%02d", i), AgentID: "main", ResourceType: "tool", ResourceKey: "mcp__git__log"[:i] + "*",
			Effect: policy.Allow, Grants: []policy.Grant{policy.ToUser(fmt.Sprint("u", i))},
		})
	}
	set, err := policy.Compile("main", rows, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		req := policy.Request{Principal: policy.Principal{AgentID: "main", UserID: fmt.Sprint("u", i)}, Tool: "mcp__git__log", Server: "git"}
		if r := set.Evaluate(req); r.Rule == nil || r.Rule.ID != row.ID {
			t.Errorf("u%d: got %+v", i, r)
		}
	}
}

// A key with many rows is looked up by grant: each caller must find the row that
// speaks for it, and the first one of several.
func TestCrowdedKey(t *testing.T) {
	const many = 30
	var rows []policy.Row
	add := func(effect policy.Effect, origin policy.Origin, grant policy.Grant) {
		rows = append(rows, policy.Row{
			ID: fmt.Sprintf("r%03d", len(rows)), AgentID: "main", ResourceType: "tool", ResourceKey: "t",
			Effect: effect, Grants: []policy.Grant{grant}, Origin: origin,
		})
	}
	for i := range many {
		add(policy.Deny, "", policy.ToUser(fmt.Sprint("denied", i)))
		add(policy.RequireApproval, "", policy.ToCircle(fmt.Sprint("asked", i)))
		add(policy.Allow, "", policy.ToUser(fmt.Sprint("allowed", i)))
		add(policy.Allow, policy.OriginApproval, policy.ToUser(fmt.Sprint("approved", i)))
	}
	add(policy.Allow, "", policy.ToRole(policy.Owner))
	set, err := policy.Compile("main", rows, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	owner := policy.Principal{AgentID: "main", UserID: "ann", Role: policy.Owner}
	if r := set.Evaluate(policy.Request{Principal: owner, Tool: "t"}); r.Decision != policy.Allow || r.Rule.ID != fmt.Sprintf("r%03d", 4*many) {
		t.Errorf("the owner's row is not found: %+v", r)
	}
	for i := range many {
		for user, want := range map[string]string{
			fmt.Sprint("denied", i):   fmt.Sprintf("deny deny r%03d", 4*i),
			fmt.Sprint("asked", i):    fmt.Sprintf("require_approval approval r%03d", 4*i+1),
			fmt.Sprint("allowed", i):  fmt.Sprintf("allow allow r%03d", 4*i+2),
			fmt.Sprint("approved", i): fmt.Sprintf("allow approved r%03d", 4*i+3),
		} {
			p := policy.Principal{AgentID: "main", UserID: user, Role: policy.User}
			if strings.HasPrefix(user, "asked") || strings.HasPrefix(user, "approved") {
				p.Circles = []string{fmt.Sprint("asked", many-1), fmt.Sprint("asked", i)}
			}
			r := set.Evaluate(policy.Request{Principal: p, Tool: "t"})
			if got := fmt.Sprint(r.Decision, " ", r.Step, " ", r.Rule.ID); got != want {
				t.Errorf("%s: got %s, want %s", user, got, want)
			}
		}
	}
}
