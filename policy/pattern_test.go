package policy_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"holm/policy"
)

// judge tells what an allow row and a deny row with this condition make of a text:
// "yes" and "no" when they agree on it, "unknown" when both take the strict side.
func judge(t testing.TB, kind policy.MatchKind, pattern, text string) string {
	t.Helper()
	scope := policy.Scope{Args: []policy.Condition{{Arg: "v", Match: kind, Pattern: pattern}}}
	row := policy.Row{ID: "a", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "t", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}, Scope: scope}
	if row.Validate() != nil {
		return "refused"
	}
	raw, err := json.Marshal(map[string]string{"v": text})
	if err != nil {
		t.Fatal(err)
	}
	req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t", Args: mustArgs(t, string(raw))}
	allowed := evaluate(t, row, req).Decision == policy.Allow
	row.Effect = policy.Deny
	denied := evaluate(t, row, req).Step == policy.StepDeny
	switch {
	case allowed && denied:
		return "yes"
	case denied:
		return "unknown"
	case allowed:
		t.Fatalf("%q lets %q in by allow and not out by deny", pattern, text)
	}
	return "no"
}

func evaluate(t testing.TB, row policy.Row, req policy.Request) policy.Result {
	t.Helper()
	set, err := policy.Compile("main", []policy.Row{row}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Evaluate(req)
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct{ pattern, text, want string }{
		// classes
		{"[a-c]", "b", "yes"}, {"[a-c]", "d", "no"}, {"[!a-c]", "d", "yes"}, {"[^a-c]", "b", "no"},
		{"[]a]", "]", "yes"}, {"[!]a]", "]", "no"}, {"[a-]", "-", "yes"}, {"[-a]", "-", "yes"},
		{`[\]]`, "]", "yes"}, {`[a\-c]`, "b", "no"}, {`[é-ü]`, "ö", "yes"}, {"[ab]c", "ac", "yes"},
		{"x/[^a]", "x/b", "yes"}, {"x/[^a]", "x/a", "no"}, {"x[!a]y/z", "x/y/z", "no"},
		{"x[+-9]y/z", "x5y/z", "yes"}, {"x[+-9]y/z", "x+y/z", "yes"}, {"x[+-9]y/z", "x/y/z", "no"}, {"x[.-/]y/z", "x.y/z", "yes"},
		{"x[/-0]y/z", "x0y/z", "yes"},
		// alternatives
		{"{a,b}", "b", "yes"}, {"{a,b}", "c", "no"}, {"{a}", "a", "yes"}, {"a{,b}c", "ac", "yes"}, {"{a,{b,c}d}", "cd", "yes"},
		{"{a*,b}/x", "ab/x", "yes"}, {"{a*,b}/x", "a/b/x", "no"}, {"{,/srv}/x", "/srv/x", "yes"}, {"{,/srv}/x", "/x", "yes"},
		{"{*,/srv}/x", "/srv/x", "yes"}, {"{a,b*}/x", "/x", "no"}, {"{,a}*/x", "/x", "no"}, {"x/{a/**,b}", "x/a", "yes"}, {"x/{a/**,b}c", "x/ac", "no"},
		{"{**/a,b}/c", "a/c", "yes"}, {`\{a,b}`, "{a,b}", "yes"}, {`\{a,b}*`, "{a,b}", "yes"}, {"{a,b", "a", "refused"}, {"a}*", "a}", "yes"}, {"a,b*", "a,b", "yes"},
		// stars
		{"**", "", "yes"}, {"***", "a/b", "yes"}, {"a*b*c", "a1b2c", "yes"}, {"a*b*c", "acb", "no"}, {"a*a", "a", "no"}, {"*ab*", "xabx", "yes"}, {"*a*b*", "ba", "no"}, {"*ab*ab*", "ab", "no"}, {"*ab*ab*", "abab", "yes"}, {"*aba*b", "abab", "yes"},
		{"a***b/c", "a/x/b/c", "yes"}, {"*/*", "a/b", "yes"}, {"*/*", "/b", "no"}, {"/*", "/", "no"}, {"/*", "/a", "yes"}, {"a/*b", "a/b", "yes"},
		{"a/**", "a/", "yes"}, {"a/**", "ab", "no"}, {"a*/**", "ab", "yes"}, {"**/", "a/b/", "yes"}, {"**/", "a/b", "unknown"}, {"**/**", "a", "yes"}, {"a/**/", "a/b/c/", "yes"}, {"a/**/", "a/b/c", "unknown"},
		{"/a/**/b", "/a/b", "yes"}, {"/a/**/b", "/a/x/y/b", "yes"}, {"/a/**/b", "/a/xb", "no"}, {"/a/**/b", "/ab", "no"}, {"/**/b", "/b", "yes"}, {"/**/b", "/x/b", "yes"}, {"/**/b", "/xb", "no"},
		{"/a/**/**/b", "/a/b", "yes"}, {"/a/**/**", "/a", "yes"}, {"/a/**/b/**", "/a/b", "yes"}, {"/a/**b", "/a/b", "yes"}, {"/a/**b", "/a/x/yb", "yes"}, {"/{a/**,c}/b", "/a/b", "yes"}, {"/{a/**,c}/b", "/a/x/b", "yes"}, {"/{a,*}/b", "/x/b", "yes"},
		{"**/**/b", "b", "yes"}, {"**/a/**/b", "a/b", "yes"}, {"**/a/**/b", "/x/a/b", "yes"},
		// question marks
		{"?", "é", "yes"}, {"?", "", "no"}, {"?", "/", "yes"}, {"a?b/c", "a/b/c", "no"}, {"a?b/c", "a.b/c", "yes"},
		// escapes
		{`a\*`, "a*", "yes"}, {`a\*`, "ab", "no"}, {`\d*`, `\d1`, "yes"}, {`a\\*`, `a\b`, "yes"}, {`a\b`, `a\b`, "yes"},
		// text that is special to RE2 and not to globs
		{"a.b*", "axb", "no"}, {"(a|b)+*", "(a|b)+", "yes"}, {"^a$?", "^a$x", "yes"}, {"a?", "a\n", "yes"},
		// paths
		{"./a", "a", "yes"}, {"./a", "/a", "no"}, {"./", ".", "yes"}, {"./**", "a/b", "yes"}, {"./**", "/a", "no"}, {"a/./b", "a/b", "refused"}, {"/a/./b", "/a/b", "yes"},
		{"/", "/", "yes"}, {"/", "//", "yes"}, {"/", "/a", "no"}, {"a//b*", "a/bc", "unknown"}, {"/a//b*", "/a/bc", "yes"}, {"a/b*/", "a/bc/", "yes"}, {"//a*", "/ab", "yes"},
		{"/a/**", "/a/../a/b", "yes"}, {"/a/**", "/a/..", "no"}, {"/a/**", "/..", "unknown"}, {"/a/**", "a\x00", "unknown"}, {"a/b", "a/b/../../..", "unknown"},
		{"a/..b", "a/..b", "yes"}, {"a/...", "a/...", "yes"}, {"~/a/**", "~/a/b", "yes"}, {"~/a/**", "~/a/../b", "no"}, {"~/**", "~/../b", "unknown"},
		{"/a/**", "~/b", "unknown"}, {"./**", "~/b", "unknown"}, {"~/**", "/b", "no"}, {"/a/**", `/a\b`, "unknown"}, {"/a/**", "/a/%2e%2e/b", "unknown"}, {"/a/**", "/a/b%20c", "yes"},
		{"./**", "C:/b", "unknown"}, {"./**", "C:", "unknown"}, {"{/a,/b}/**", "/c/../b", "yes"}, {"{/a,b}/**", "b/../c", "unknown"},
		// names with slashes, as they are
		{"a/*", "a/b", "yes"}, {"a/*", "c/../a/b", "unknown"}, {"a/*", "./a/b", "unknown"}, {"a/*", "a/.", "unknown"}, {"a/*", `a/..\b`, "unknown"}, {"a/*", "a/%2e%2E/b", "unknown"},
		{"a/*", "a/%252e%252e/b", "unknown"}, {"a/*", "a/..;x/b", "unknown"}, {"a/*", "a/.. /b", "unknown"}, {"a/*", "a/b%2Fc", "unknown"}, {"a/**", "a/b%2Fc", "yes"}, {"a/*", "a/b%20c", "yes"},
		{"a/*", "a//b", "unknown"}, {"a/*", "a/b/", "unknown"}, {"a/*", "/a/b", "unknown"}, {"a/*", "b/c", "no"}, {"a/*", "A/b", "no"}, {"a/*", "a/.\t./b", "unknown"}, {"a/**", "a/%ff", "unknown"},
		{"a/*", "a/%25252525252e", "unknown"}, {"a%2Fb/*", "a%2Fb/c", "yes"}, {"a%2Fb/*", "a/b/c", "unknown"}, {"a/b/", "a/b/", "yes"}, {"a/b/", "a/b", "unknown"}, {"a/100%", "a/100%", "yes"}, {"{a%20,b}/c", "a%20/c", "yes"}, {"{a%2F,b}/c", "a%2F/c", "unknown"},
		{"a/*", "a/b?c", "yes"}, {"a/*:v?", "a/b:v1", "yes"}, {"refs/heads/*", "refs/heads/x", "yes"}, {"refs/heads/*", "refs/heads/x/../y", "unknown"}, {"**/.env", "/a/.env", "yes"}, {"**/.env", "a//.env", "yes"},
		// paths of Windows
		{`C:\a\**`, `C:\a\b`, "yes"}, {`C:\a\**`, `c:/a/b`, "yes"}, {`c:/a/**`, `C:\a`, "yes"}, {`C:\a\**`, `C:\A\b`, "unknown"}, {`C:\a\**`, `C:\b`, "no"}, {`C:\a\**`, `C:\a\..\b`, "no"},
		{`C:\a\**`, `C:\..\..\b`, "unknown"}, {`C:\a\**`, `\a\b`, "unknown"}, {`C:\a\**`, `C:a`, "unknown"}, {`C:\a\**`, `C:`, "unknown"}, {`C:\a\**`, `\\host\a`, "unknown"}, {`C:\a\**`, `a\b`, "no"}, {`C:\a\**`, `..\b`, "unknown"},
		{`C:\a\**`, `C:\a.\b`, "unknown"}, {`C:\a\**`, `C:\a \b`, "unknown"}, {`C:\a\**`, `C:\b:s`, "unknown"}, {`C:\a\**`, `C:\AB~1`, "unknown"}, {`C:\a\**`, "C:\\a\x00", "unknown"}, {`C:\a\**`, "", "unknown"}, {`C:\a\..\b`, "", "refused"}, {`C:\a\[b`, "", "refused"},
		{`C:\a`, `C:\a\.\`, "yes"},
	} {
		if got := judge(t, policy.MatchGlob, c.pattern, c.text); got != c.want {
			t.Errorf("%q and %q: got %s, want %s", c.pattern, c.text, got, c.want)
		}
	}
}

func TestPatternLimits(t *testing.T) {
	long := strings.Repeat("a", policy.MaxPattern)
	for _, c := range []struct {
		name string
		kind policy.MatchKind
		text string
		want string
	}{
		{"as long as allowed", policy.MatchGlob, long, ""},
		{"too long", policy.MatchGlob, long + "a", "scope.args[0].pattern: is longer than 1024 bytes (at position 1025)"},
		{"no UTF-8", policy.MatchRegex, "a\xff", "scope.args[0].pattern: is not valid UTF-8 (at position 2)"},
		{"a program too large", policy.MatchRegex, strings.Repeat("a{1000}", 5), "scope.args[0].pattern: is too complex"},
		{"nested braces", policy.MatchGlob, strings.Repeat("{a,aa,aaa}", 100), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := policy.Row{ResourceType: "tool", ResourceKey: "t", Effect: policy.Deny}
			row.Scope.Args = []policy.Condition{{Arg: "v", Match: c.kind, Pattern: c.text}}
			got := ""
			if err := row.Validate(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestConditionLimit(t *testing.T) {
	row := policy.Row{ResourceType: "tool", ResourceKey: "t", Effect: policy.Deny}
	row.Scope.Args = make([]policy.Condition, policy.MaxConditions+1)
	for i := range row.Scope.Args {
		row.Scope.Args[i] = policy.Condition{Arg: "a", Pattern: "b"}
	}
	if err := row.Validate(); err == nil || err.Error() != "scope.args: has 65 conditions, at most 64 are allowed" {
		t.Errorf("got %v", err)
	}
	row.Scope.Args = row.Scope.Args[1:]
	if err := row.Validate(); err != nil {
		t.Error(err)
	}
}

// A value that would take too long to match cannot be judged; one that needs no
// regular expression is judged at any length.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("a", 4<<20)
	for _, c := range []struct {
		kind    policy.MatchKind
		pattern string
		text    string
		want    string
	}{
		{policy.MatchRegex, "(a+)+", long, "unknown"},
		{policy.MatchRegex, "(a+)+", long[:100_000], "yes"},
		{policy.MatchGlob, "[a]*", long, "unknown"},
		{policy.MatchGlob, "a*a", long, "yes"},
		{policy.MatchGlob, "a*a*b", long, "no"},
		{policy.MatchGlob, "/a/**", "/a/" + long, "yes"},
	} {
		if got := judge(t, c.kind, c.pattern, c.text); got != c.want {
			t.Errorf("%s: got %s, want %s", c.pattern, got, c.want)
		}
	}
}

func TestCheckGlob(t *testing.T) {
	if err := policy.CheckGlob("/srv/**"); err != nil {
		t.Error(err)
	}
	if err := policy.CheckGlob("a[b"); err == nil || err.Error() != "glob: [ is not closed (at position 2)" {
		t.Errorf("got %v", err)
	}
}

// FuzzGlob compares with the backtracking matcher of the reference, for patterns
// that it knows.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "axb"}, {"/a/**", "/a/../b"}, {"**/a", "b/a"}, {"a/*/b", "a/x/b"}, {"[a-c]{x,y}", "bx"}, {`\*`, "*"}, {"./**", "/"}, {"a/./*//", "a/b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		text = strings.ToValidUTF8(text, "")
		got := judge(t, policy.MatchGlob, pattern, text)
		if got == "refused" || len(pattern) > 12 || len(text) > 12 || strings.ContainsAny(pattern, `[{\`) ||
			strings.ContainsAny(text, `%\`) || strings.Contains(pattern, "%") || strings.Contains(pattern, "://") || strings.Contains(pattern, ":/") {
			return
		}
		want := map[answer]string{yes: "yes", no: "no", unknown: "unknown"}[refMatch(policy.Condition{Pattern: pattern}, text)]
		if got != want {
			t.Fatalf("%q and %q: got %s, want %s", pattern, text, got, want)
		}
	})
}

// FuzzRegex compares with the longest match of the pattern as it is written.
func FuzzRegex(f *testing.F) {
	for _, seed := range [][2]string{{"a|b", "ab"}, {`^SELECT\s.*`, "SELECT 1\nx"}, {"(?i)a(?s).", "A\n"}, {"(?m)^a$", "a\na"}, {`\Qa.b`, "a.b"}, {"(?U)a+", "aa"}, {`\bx\b|`, "x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		text = strings.ToValidUTF8(text, "")
		got := judge(t, policy.MatchRegex, pattern, text)
		if got == "refused" || got == "unknown" {
			return
		}
		whole := regexp.MustCompile(pattern)
		whole.Longest()
		at := whole.FindStringIndex(text)
		if want := at != nil && at[0] == 0 && at[1] == len(text); want != (got == "yes") {
			t.Fatalf("%q and %q: got %s, want %v", pattern, text, got, want)
		}
	})
}
