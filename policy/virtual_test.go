package policy_test

import (
	"strings"
	"testing"

	"holm/policy"
)

// decisions says what each of the callers ann (owner), bob (user), gus (guest) and
// the bare key get for a tool.
func decisions(t *testing.T, set *policy.Set, tool, server string) string {
	t.Helper()
	var got []string
	for _, p := range []policy.Principal{ann, bob, gus, key} {
		got = append(got, string(set.Evaluate(policy.Request{Principal: p, Tool: tool, Server: server}).Decision))
	}
	return strings.Join(got, " ")
}

func TestVirtualRows(t *testing.T) {
	for _, c := range []struct {
		name, level  string
		names        []string
		stored       []string
		tool, server string
		want         string
	}{
		{"readonly denies writing", "readonly", nil, nil, "file_write", "", "deny deny deny deny"},
		{"readonly leaves reading", "readonly", nil, nil, "file_read", "", "allow allow deny deny"},
		{"readonly leaves the agent's management", "readonly", nil, nil, "policy_set", "", "allow deny deny deny"},
		{"readonly takes no names", "readonly", []string{"file_read"}, nil, "file_read", "", "allow allow deny deny"},
		{"full is nothing", "full", []string{"exec"}, nil, "exec", "", "allow deny deny deny"},
		{"empty is full", "", []string{"exec"}, nil, "exec", "", "allow deny deny deny"},
		{"supervised asks those who could call", "supervised", []string{"exec", "web_fetch", "exec"}, nil, "exec", "", "require_approval deny deny deny"},
		{"supervised asks everybody where everybody could", "supervised", []string{"web_fetch"}, nil, "web_fetch", "", "require_approval require_approval require_approval require_approval"},
		{"supervised opens no tool for the system", "supervised", []string{"working_memory_update"}, nil, "working_memory_update", "", "deny deny deny deny"},
		{"supervised and another's tool", "supervised", []string{"mcp__git__push"}, []string{"a allow mcp git role:user"}, "mcp__git__push", "git", "require_approval require_approval require_approval require_approval"},
		{"a stored row takes its place", "readonly", nil, []string{"a allow tool exec role:owner"}, "exec", "", "allow deny deny deny"},
		{"a stored row for many tools does not", "readonly", nil, []string{"a allow tool * role:owner"}, "exec", "", "deny deny deny deny"},
		{"nor does one that an approval left", "readonly", nil, []string{"+a allow tool exec user:bob"}, "exec", "", "deny deny deny deny"},
		{"nor one of another type", "readonly", nil, []string{"a allow exec exec any"}, "exec", "", "deny deny deny deny"},
		{"an approval answers it", "supervised", []string{"web_fetch"}, []string{`+a allow tool web_fetch user:bob {"approves":"virtual:require_approval:web_fetch"}`}, "web_fetch", "", "require_approval allow require_approval require_approval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual, err := policy.VirtualRows("main", c.level, c.names)
			if err != nil {
				t.Fatal(err)
			}
			set, err := policy.Compile("main", append(parseRows(t, c.stored), virtual...), policy.Options{DefaultGrants: policy.BuiltinGrants})
			if err != nil || len(set.Problems()) > 0 {
				t.Fatal(err, set.Problems())
			}
			if got := decisions(t, set, c.tool, c.server); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestVirtualRowsRefuse(t *testing.T) {
	if _, err := policy.VirtualRows("main", "wild", nil); err == nil || err.Error() != `autonomy_level: unknown level "wild": want readonly, supervised or full` {
		t.Errorf("got %v", err)
	}
	if _, err := policy.VirtualRows("main", "supervised", []string{"exec", " x"}); err == nil || err.Error() != "require_approval_for: begins or ends with a space" {
		t.Errorf("got %v", err)
	}
}
