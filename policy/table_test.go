package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holm/policy"
)

// tableCase is one line of a table in testdata: what a condition says of a value.
type tableCase struct {
	condition policy.Condition
	value     string // JSON; "" when the argument is not there
	want      string // yes, no, unknown, or refused
}

func tableCases(t testing.TB) (all []tableCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.table")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var condition policy.Condition
		for _, line := range linesOf(text) {
			switch word, rest, _ := strings.Cut(line, " "); word {
			case "==":
				condition = tableCondition(t, rest)
			case "refused":
				all = append(all, tableCase{tableCondition(t, rest), "", word})
			default:
				all = append(all, tableCase{condition, rest, word})
			}
		}
	}
	return all
}

func tableCondition(t testing.TB, text string) policy.Condition {
	arg, pattern, ok := strings.Cut(text, "=")
	if !ok {
		t.Fatalf("want ARG=PATTERN in %q", text)
	}
	c := policy.Condition{Arg: arg, Match: policy.MatchGlob, Pattern: pattern}
	if regex, ok := strings.CutPrefix(pattern, "re:"); ok {
		c.Match, c.Pattern = policy.MatchRegex, regex
	}
	return c
}

// TestTables judges each line by an allow, an ask and a deny row.
func TestTables(t *testing.T) {
	cases := tableCases(t)
	if len(cases) < 300 {
		t.Errorf("the tables have %d lines, want at least 300", len(cases))
	}
	for _, c := range cases {
		if got := judgeValue(t, c.condition, c.value); got != c.want {
			t.Errorf("%s=%s and %s: got %s, want %s", c.condition.Arg, c.condition.Pattern, c.value, got, c.want)
		}
	}
}

// judgeValue is judge for any value of the argument v. The ask row stands beside an
// allow row for all, so that it alone decides between allow and require_approval.
func judgeValue(t testing.TB, c policy.Condition, value string) string {
	t.Helper()
	row := policy.Row{
		ID: "a", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "t", Effect: policy.Allow,
		Grants: []policy.Grant{policy.Any()}, Scope: policy.Scope{Args: []policy.Condition{c}},
	}
	if row.Validate() != nil {
		return "refused"
	}
	req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t", Args: mustArgs(t, `{"v":`+value+`}`)}
	open := policy.Row{ID: "b", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "t", Effect: policy.Allow, Grants: row.Grants}
	decide := func(rows ...policy.Row) policy.Effect {
		set, err := policy.Compile("main", rows, policy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return set.Evaluate(req).Decision
	}
	ask, deny := row, row
	ask.Effect, deny.Effect = policy.RequireApproval, policy.Deny
	allowed, asked, denied := decide(row) == policy.Allow, decide(ask, open) == policy.RequireApproval, decide(deny, open) == policy.Deny
	switch {
	case asked != denied || allowed && !denied:
		return "allow, ask and deny contradict each other"
	case allowed:
		return "yes"
	case denied:
		return "unknown"
	}
	return "no"
}
