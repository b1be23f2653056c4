package policy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/policy"
)

var (
	ann = policy.Principal{AgentID: "main", UserID: "ann", Role: policy.Owner}
	bob = policy.Principal{AgentID: "main", UserID: "bob", Role: policy.User}
	gus = policy.Principal{AgentID: "main", UserID: "gus", Role: policy.Guest}
	key = policy.Principal{AgentID: "main"}
)

func setOf(t *testing.T, lines ...string) *policy.Set {
	t.Helper()
	set, err := policy.Compile("main", parseRows(t, lines), policy.Options{DefaultGrants: policy.BuiltinGrants})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestLockOut(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []string
		want          []string
	}{
		{"nothing changes", nil, nil, nil},
		{"an owner loses a tool for owners", nil, []string{"a require_approval tool exec role:guest"}, []string{"exec ann false"}},
		{"the defaults are kept", nil, []string{"a require_approval tool exec role:guest", "b allow tool exec role:owner"}, nil},
		{"a question is no loss", nil, []string{"a require_approval tool policy_set role:owner"}, nil},
		{"a deny for a condition is no loss", nil, []string{`a deny tool exec role:owner {"args":[{"arg":"command","pattern":"rm*"}]}`}, nil},
		{"everybody loses", nil, []string{"a deny tool policy_set any"}, []string{"policy_set ann true"}},
		{"others may go on", nil, []string{"a deny tool web_fetch role:owner,role:guest", "b allow tool web_fetch any"}, nil},
		{"nobody may go on", nil, []string{"a deny tool web_fetch any"}, []string{"web_fetch ann true", "web_fetch bob true", "web_fetch gus true", "web_fetch  true"}},
		{"a tool of an upstream", []string{"a allow mcp git role:user"}, nil, []string{"mcp__git__log bob true"}},
		{"an owner and a tool of an upstream", []string{"a allow mcp git any"}, []string{"a allow mcp git role:user"}, nil},
		{"it was lost before", []string{"a deny tool * any"}, []string{"a deny tool * any"}, nil},
		{"a gain is no loss", []string{"a deny tool * any"}, nil, nil},
		{"all at once", nil, []string{"a deny tool * role:guest"}, []string{
			"exec ann true", "policy_set ann true", "web_fetch ann true", "web_fetch bob true", "web_fetch gus true", "web_fetch  true",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := []policy.Tool{{Name: "exec"}, {Name: "policy_set"}, {Name: "web_fetch"}, {Name: "mcp__git__log", Server: "git"}}
			var got []string
			for _, l := range policy.LockOut(setOf(t, c.before...), setOf(t, c.after...), tools, []policy.Principal{ann, bob, gus, key}) {
				got = append(got, fmt.Sprintf("%s %s %v", l.Tool.Name, l.Principal.UserID, l.Everyone))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without declared grants there are no tools for owners, only tools.
func TestLockOutWithoutDeclarations(t *testing.T) {
	compile := func(lines ...string) *policy.Set {
		set, err := policy.Compile("main", parseRows(t, lines), policy.Options{Default: policy.Allow})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	losses := policy.LockOut(compile(), compile("a deny tool exec role:owner", "b allow tool exec any"), []policy.Tool{{Name: "exec"}}, []policy.Principal{ann, bob})
	if len(losses) > 0 {
		t.Errorf("got %+v", losses)
	}
}

// What KeepDefaults adds is what the lock-out guard asks for.
func TestKeepDefaultsPreventsLockOut(t *testing.T) {
	var tools []policy.Tool
	for _, name := range []string{"exec", "file_write", "policy_set", "circle_create", "user_list", "web_fetch", "memory_get"} {
		tools = append(tools, policy.Tool{Name: name})
	}
	everybody := []policy.Principal{ann, bob, gus, key}
	for _, line := range []string{"r deny tool * role:guest", "r require_approval tool *e* role:guest", "r require_approval tool circle_* circle:x"} {
		row := parseRows(t, []string{line})
		with := append(row, policy.KeepDefaults(nil, row[0])...)
		compile := func(rows []policy.Row) *policy.Set {
			set, err := policy.Compile("main", rows, policy.Options{DefaultGrants: policy.BuiltinGrants})
			if err != nil || len(set.Problems()) > 0 {
				t.Fatal(err, set.Problems())
			}
			return set
		}
		if len(policy.LockOut(setOf(t), compile(row), tools, everybody)) == 0 {
			t.Errorf("%s alone locks nobody out", line)
		}
		if losses := policy.LockOut(setOf(t), compile(with), tools, everybody); len(losses) > 0 {
			t.Errorf("%s with its defaults kept locks out %+v", line, losses)
		}
	}
}

func TestSeesSession(t *testing.T) {
	for _, c := range []struct {
		who          policy.Principal
		participants []string
		want         bool
	}{
		{ann, nil, true},
		{bob, nil, false},
		{bob, []string{"gus"}, false},
		{bob, []string{"gus", "bob"}, true},
		{key, []string{"agent:main"}, true},
		{key, []string{"", "agent:other"}, false},
	} {
		if got := policy.SeesSession(c.who, c.participants); got != c.want {
			t.Errorf("%+v and %q: got %v", c.who, c.participants, got)
		}
	}
}

func TestSeesMemory(t *testing.T) {
	for _, c := range []struct {
		who    policy.Principal
		grants []policy.Grant
		want   bool
	}{
		{key, nil, true},
		{gus, nil, true},
		{gus, []policy.Grant{policy.ToRole(policy.User)}, false},
		{bob, []policy.Grant{policy.ToRole(policy.User)}, true},
		{ann, []policy.Grant{policy.ToRole(policy.User)}, true},
		{gus, []policy.Grant{{Type: "team", Value: "x"}}, false},
		{key, []policy.Grant{policy.ToUser("agent:main")}, true},
	} {
		if got := policy.SeesMemory(c.who, c.grants); got != c.want {
			t.Errorf("%+v and %v: got %v", c.who, c.grants, got)
		}
	}
}

func TestCapabilitiesOfAnotherAgent(t *testing.T) {
	if got := setOf(t).Capabilities(policy.Principal{AgentID: "other", Role: policy.Owner}, []policy.Tool{{Name: "web_fetch"}}); got != nil {
		t.Errorf("got %q", got)
	}
}
