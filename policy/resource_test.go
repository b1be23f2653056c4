package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/policy"
)

func file(mode, path string) policy.Resource {
	return policy.Resource{Type: policy.TypeFile, Mode: mode, Path: path}
}

func command(text, cwd string) policy.Resource {
	return policy.Resource{Type: policy.TypeExec, Command: text, CWD: cwd}
}

func TestResourceClean(t *testing.T) {
	for _, c := range []struct {
		name string
		in   policy.Resource
		want policy.Resource
	}{
		{"a file", file("read", "/a//b/./c/../d/"), policy.Resource{Type: "file", Sandbox: "default", Mode: "read", Path: "/a/b/d"}},
		{"above the root", file("write", "/../../a"), policy.Resource{Type: "file", Sandbox: "default", Mode: "write", Path: "/a"}},
		{"the root", file("read", "//"), policy.Resource{Type: "file", Sandbox: "default", Mode: "read", Path: "/"}},
		{"a command", command(" git \t log\t", "/srv/"), policy.Resource{Type: "exec", Sandbox: "default", Command: "git log", CWD: "/srv"}},
		{"line ends stay", command("a \n b\r", ""), policy.Resource{Type: "exec", Sandbox: "default", Command: "a \n b\r"}},
		{"blanks that count stay", command("  rm  -r 'a  b'  ", ""), policy.Resource{Type: "exec", Sandbox: "default", Command: "rm -r 'a  b'"}},
		{"so do kept ones", command(`rm  a\  b\ `, ""), policy.Resource{Type: "exec", Sandbox: "default", Command: `rm a\  b\ `}},
		{"a sandbox", policy.Resource{Type: "exec", Sandbox: "box", Command: "ls"}, policy.Resource{Type: "exec", Sandbox: "box", Command: "ls"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.in.Clean()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if again, err := got.Clean(); err != nil || again != got {
				t.Errorf("cleaned again it is %+v, %v", again, err)
			}
		})
	}
}

func TestResourceCleanRefuses(t *testing.T) {
	for want, r := range map[string]policy.Resource{
		`type: unknown type "tool"`:                    {Type: "tool", Path: "/a"},
		`mode: unknown mode "*"`:                       file("*", "/a"),
		"path: must be an absolute path":               file("read", "a"),
		"path: contains a NUL (at position 3)":         file("read", "/a\x00"),
		"command: a file has neither":                  {Type: "file", Mode: "read", Path: "/a", CWD: "/b"},
		"command: is empty":                            command(" \t", ""),
		"cwd: must be an absolute path":                command("ls", "a"),
		"cwd: contains a NUL (at position 2)":          command("ls", "/\x00"),
		"path: a command has neither":                  {Type: "exec", Command: "ls", Path: "/a"},
		"sandbox: must name one sandbox":               {Type: "exec", Command: "ls", Sandbox: "*"},
		"sandbox: begins or ends with a space":         {Type: "exec", Command: "ls", Sandbox: " a"},
		"sandbox: contains a control character":        {Type: "exec", Command: "ls", Sandbox: "a\x00b"},
		"sandbox: is longer than 256 bytes":            {Type: "exec", Command: "ls", Sandbox: strings.Repeat("a", 257)},
		`mode: unknown mode "": want read, write or s`: file("", "/a"),
	} {
		var invalid *policy.InvalidError
		if got, err := r.Clean(); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || got != (policy.Resource{}) {
			t.Errorf("%+v: got %+v, %v, want %s", r, got, err, want)
		}
	}
}

func TestResourceOf(t *testing.T) {
	for _, c := range []struct {
		kind, key string
		scope     policy.Scope
		want      policy.Resource
		wantKey   string
		wantTool  string
	}{
		{"file", "/a", policy.Scope{Mode: "read"}, file("read", "/a"), "/a", "file_read"},
		{"file", "x", policy.Scope{Mode: "write", Path: "/a"}, file("write", "/a"), "/a", "file_write"},
		{"exec", "ls", policy.Scope{CWD: "/s"}, command("ls", "/s"), "ls", "exec"},
		{"exec", "x", policy.Scope{Command: "ls"}, command("ls", ""), "ls", "exec"},
	} {
		got := policy.ResourceOf(c.kind, c.key, c.scope)
		if got != c.want || got.Key() != c.wantKey || got.Tool() != c.wantTool {
			t.Errorf("%s %s: got %+v, key %s, tool %s", c.kind, c.key, got, got.Key(), got.Tool())
		}
	}
}

// verdictOn tells what an allow row and a deny row for this command make of a
// text, like judge for conditions.
func verdictOn(t testing.TB, pattern, text string) string {
	t.Helper()
	row := policy.Row{
		ID: "a", AgentID: "main", ResourceType: policy.TypeExec, ResourceKey: "k", Effect: policy.Allow,
		Grants: []policy.Grant{policy.Any()}, Scope: policy.Scope{Command: pattern},
	}
	if pattern == "" || row.Validate() != nil { // without a command the key would be it
		return "refused"
	}
	req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch", Resources: []policy.Resource{command(text, "")}}
	decide := func() policy.Result {
		set, err := policy.Compile("main", []policy.Row{row}, policy.Options{DefaultGrants: policy.BuiltinGrants})
		if err != nil {
			t.Fatal(err)
		}
		return set.Evaluate(req)
	}
	allowed := decide()
	row.Effect = policy.Deny
	denied := decide()
	switch {
	case allowed.Step == policy.StepInvalid:
		return "invalid"
	case allowed.Decision == policy.Allow && denied.Decision == policy.Deny:
		return "yes"
	case denied.Decision == policy.Deny:
		return "unknown"
	case allowed.Decision == policy.Allow:
		t.Fatalf("%q lets %q in by allow and not out by deny", pattern, text)
	}
	return "no"
}

// neverCovered are characters outside quotes that a pattern of words never covers.
const neverCovered = "()<>`\r\x00"

// FuzzCommand compares with the reference where that can read the text, and checks
// that no file, substitution or control character gets through a glob.
func FuzzCommand(f *testing.F) {
	for _, seed := range [][2]string{{"git log *", "git log; rm"}, {"* x *", "x x x"}, {"a*b c", "ab c"}, {"*", "a\nb"}, {" a \t b ", "a b"}, {"* *", "a"}, {"a *", "a\x00"}, {"a *", "b a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		got := verdictOn(t, pattern, text)
		if got == "refused" || got == "invalid" {
			return
		}
		isGlob := strings.Contains(pattern, "*") && strings.Join(refWords(pattern), " ") != "*"
		if isGlob && got == "yes" && !strings.ContainsAny(text, "'\"\\#") && strings.ContainsAny(text, neverCovered) {
			t.Fatalf("%q lets %q through", pattern, text)
		}
		if len(pattern) > 24 || len(text) > 24 || strings.Trim(pattern, "abc*; \t") != "" || strings.Trim(text, "abc; \t\n") != "" || strings.Contains(text, ";;") {
			return // the reference is slow, and reads these characters alone
		}
		if want := refVerdict(pattern, text); want != "" && got != want {
			t.Fatalf("%q and %q: got %s, want %s", pattern, text, got, want)
		}
	})
}

// refVerdict is what verdictOn gives after the reference; "" where the text is none
// that shells take.
func refVerdict(pattern, text string) string {
	parts := refParts(text)
	if len(parts) == 0 || strings.HasPrefix(strings.TrimLeft(text, " \t\n"), ";") {
		return ""
	}
	allowed, denied := true, false
	for _, part := range parts {
		allowed = allowed && refCommand(pattern, text, part, false) == yes
		denied = denied || refCommand(pattern, text, part, true) != no
	}
	switch {
	case allowed:
		return "yes"
	case denied:
		return "unknown"
	}
	return "no"
}

// FuzzPath checks that a row for a directory means the same for every spelling,
// and agrees with the reference.
func FuzzPath(f *testing.F) {
	for _, seed := range [][2]string{{"/a", "/a/b"}, {"/a/", "/ab"}, {"/", "/.."}, {"/a/../b", "/b/./c"}, {"/a", "/a\x00"}, {"/a", "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, dir, path string) {
		row := policy.Row{ID: "a", AgentID: "main", ResourceType: policy.TypeFile, ResourceKey: dir, Effect: policy.Deny, Grants: []policy.Grant{policy.Any()}}
		if row.Validate() != nil {
			return
		}
		set, err := policy.Compile("main", []policy.Row{row}, policy.Options{DefaultGrants: policy.BuiltinGrants})
		if err != nil {
			t.Fatal(err)
		}
		step := func(path string) policy.Step {
			return set.Evaluate(policy.Request{
				Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch",
				Resources: []policy.Resource{file("read", path)},
			}).Step
		}
		got, want := step(path), policy.StepAllow
		switch {
		case !strings.HasPrefix(path, "/") || strings.Contains(path, "\x00"):
			want = policy.StepInvalid
		case refWithin(path, dir):
			want = policy.StepDeny
		}
		if got != want {
			t.Fatalf("%q under %q: got %s, want %s", path, dir, got, want)
		}
		if respelled := "/x/.." + strings.ReplaceAll(path, "/", "/.//"); want != policy.StepInvalid && step(respelled) != want {
			t.Fatalf("%q and %q differ", path, respelled)
		}
	})
}
