package policy_test

import (
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

func lossText(l policy.Loss) string {
	text := l.Tool.Name
	if l.Sandbox != "" {
		text += "@" + l.Sandbox
	}
	if l.Everyone {
		return text + " everyone"
	}
	return text + " " + l.Principal.UserID
}

func TestLockOut(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []string
		want          []string
	}{
		{"nothing changes", nil, nil, nil},
		{"an owner loses a tool for owners", nil, []string{"a require_approval tool exec role:guest"}, []string{"exec ann"}},
		{"the defaults are kept", nil, []string{"a require_approval tool exec role:guest", "b allow tool exec role:owner"}, nil},
		{"a question is no loss", nil, []string{"a require_approval tool policy_set role:owner"}, nil},
		{"a deny for a condition is no loss", nil, []string{`a deny tool exec role:owner {"args":[{"arg":"command","pattern":"rm*"}]}`}, nil},
		{"everybody loses", nil, []string{"a deny tool policy_set any"}, []string{"policy_set everyone"}},
		{"others may go on", nil, []string{"a deny tool web_fetch role:owner,role:guest", "b allow tool web_fetch any"}, nil},
		{"nobody may go on", nil, []string{"a deny tool web_fetch any"}, []string{"web_fetch everyone"}},
		{"a tool of an upstream", []string{"a allow mcp git role:user"}, nil, []string{"mcp__git__log everyone"}},
		{"an owner and a tool of an upstream", []string{"a allow mcp git any"}, []string{"a allow mcp git role:user"}, nil},
		{"it was lost before", []string{"a deny tool * any"}, []string{"a deny tool * any"}, nil},
		{"a gain is no loss", []string{"a deny tool * any"}, nil, nil},
		{"all at once", nil, []string{"a deny tool * role:guest"}, []string{
			"exec everyone", "file_read everyone", "policy_set everyone", "web_fetch everyone",
		}},
		{"conditions of others", nil, []string{`a deny tool exec role:guest {"args":[{"arg":"command","pattern":"rm*"}]}`}, []string{"exec ann"}},
		{"a question of others under conditions", nil, []string{`a require_approval tool exec role:guest {"args":[{"arg":"command","pattern":"rm*"}]}`}, []string{"exec ann"}},
		{"conditions of others, the defaults kept", nil, []string{`a deny tool exec role:guest {"args":[{"arg":"command","pattern":"rm*"}]}`, "b allow tool exec role:owner"}, nil},
		{"conditions on what was free", nil, []string{`a allow tool exec any {"args":[{"arg":"command","pattern":"ls"}]}`}, []string{"exec ann"}},
		{"conditions that any value meets", nil, []string{`a deny tool exec role:owner {"args":[{"arg":"command","match":"regex","pattern":".*"}]}`, "b allow tool exec role:guest"}, []string{"exec ann"}},
		{"other conditions", []string{`a allow tool exec any {"args":[{"arg":"command","pattern":"ls"}]}`}, []string{`a allow tool exec any {"args":[{"arg":"command","pattern":"id"}]}`}, nil},
		{"a tool for owners and users", nil, []string{"a allow tool file_read role:user"}, []string{"file_read ann"}},
		{"files for some", nil, []string{"a allow file /guests role:user"}, []string{"file_read ann"}},
		{"files for all", nil, []string{"a allow file /guests any"}, nil},
		{"files for some, the owner beside", nil, []string{"a allow file /guests role:user", "b allow file / role:owner"}, nil},
		{"writing for some", nil, []string{`a allow file /guests role:user {"mode":"write"}`}, nil},
		{"no file for the owner", nil, []string{"a deny file / role:owner"}, []string{"file_read ann"}},
		{"some file denied", nil, []string{"a deny file /etc any"}, nil},
		{"no file for anybody", nil, []string{"a deny file / any"}, []string{"file_read everyone"}},
		{"commands for some", nil, []string{`a allow exec make role:user`}, []string{"exec everyone"}},
		{"commands for some, and a user who may", []string{"t allow tool exec role:owner,role:user"}, []string{"t allow tool exec role:owner,role:user", `a allow exec make role:user`}, []string{"exec ann"}},
		{"commands in one sandbox", nil, []string{`a allow exec make role:user {"sandbox":"box"}`}, []string{"exec@box everyone"}},
		{"no command for the owner", nil, []string{`a deny exec * role:owner`}, []string{"exec everyone"}},
		{"no command in one folder", nil, []string{`a deny exec * role:owner {"cwd":"/srv"}`}, nil},
		{"commands are asked about", nil, []string{`a require_approval exec * any`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := []policy.Tool{{Name: "exec"}, {Name: "file_read"}, {Name: "policy_set"}, {Name: "web_fetch"}, {Name: "mcp__git__log", Server: "git"}}
			var got []string
			for _, l := range policy.LockOut(setOf(t, c.before...), setOf(t, c.after...), tools, []policy.Principal{ann, bob, gus, key}) {
				got = append(got, lossText(l))
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
