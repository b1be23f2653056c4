package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/policy"
)

// The JSON form is the answer of access/check.
func TestExplanationAsJSON(t *testing.T) {
	set := setOf(t, "a allow tool read any", "b deny file /etc any", `c allow exec k role:owner {"command":"ls -l"}`, "d allow exec rm any", "e allow file /elsewhere any")
	for _, c := range []struct {
		name string
		req  policy.Request
		want string
	}{
		{
			"all layers", policy.Request{Principal: key, Tool: "read", Resources: []policy.Resource{file("read", "/etc/x"), file("read", "/y"), command("ls", "")}},
			`{"decision":"deny","step":"deny","layer":"file",
			"reasons":[{"rowId":"a","effect":"allow","resourceType":"tool","resourceKey":"read","why":"speaks for any"},
			{"rowId":"b","effect":"deny","resourceType":"file","resourceKey":"/etc","why":"speaks for any"}],
			"near":[{"rowId":"c","effect":"allow","resourceType":"exec","resourceKey":"k","why":"is about \"ls -l\", not about this"}],
			"layers":{"tool":"allow","file":"deny","exec":"deny"}}`,
		},
		{
			"the tool alone", policy.Request{Principal: key, Tool: "web_fetch"},
			`{"decision":"allow","step":"allow","declared":true,"layer":"tool","reasons":[],"near":[],"layers":{"tool":"allow"}}`,
		},
		{
			"what cannot be judged", policy.Request{Principal: key, Tool: "read", Resources: []policy.Resource{command("", "")}},
			`{"decision":"deny","step":"invalid","layer":"exec",
			"reasons":[{"rowId":"a","effect":"allow","resourceType":"tool","resourceKey":"read","why":"speaks for any"}],
			"near":[],"layers":{"tool":"allow","exec":"deny"},"problem":"command: is empty"}`,
		},
		{
			"a stranger", policy.Request{Principal: policy.Principal{AgentID: "other"}, Tool: "read"},
			`{"decision":"deny","step":"foreign","layer":"tool","reasons":[],"near":[],"layers":{"tool":"deny"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(set.Explain(c.req))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("\n", "", "\t", "").Replace(c.want)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of the rows that only come close no more are named than a person reads, and of
// those that are about something else altogether none.
func TestExplainBoundsWhatIsNear(t *testing.T) {
	var lines []string
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("r%02d allow file /d/%d any", i, i), fmt.Sprintf("s%02d allow file /e%d any", i, i))
	}
	e := setOf(t, lines...).Explain(policy.Request{Principal: key, Tool: "web_fetch", Resources: []policy.Resource{file("read", "/d/x")}})
	if len(e.Near) != 5 || e.Near[0].RowID != "r00" || e.Decision != policy.Deny {
		t.Errorf("%d rows are near: %+v", len(e.Near), e.Near)
	}
}

// A sentence names three rows, of those that speak for the caller first.
func TestClosestRows(t *testing.T) {
	lines := []string{`z allow tool t user:me {"args":[{"arg":"path","match":"glob","pattern":"/srv/**"}]}`, "y deny tool t user:other", "x allow tool other any"}
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("r%d allow tool t user:u%d", i, i))
	}
	args, err := policy.ParseArgs([]byte(`{"path":"/etc/passwd"}`))
	if err != nil {
		t.Fatal(err)
	}
	e := setOf(t, lines...).Explain(policy.Request{Principal: policy.Principal{AgentID: "main", UserID: "me"}, Tool: "t", Args: args})
	var ids []string
	for _, r := range e.Closest() {
		ids = append(ids, r.RowID)
	}
	if diff := cmp.Diff([]string{"z", "r0", "r1"}, ids); diff != "" {
		t.Error(diff, e)
	}
	if got := strings.Count(e.String(), "rule "); got != 4 { // "no rule" is one
		t.Errorf("%d rules in: %s", got, e)
	}
}

// Many rows about one command or directory are looked up, not read; each caller
// must find its own.
func TestCrowdedAreas(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines,
			fmt.Sprintf(`f%02d allow file /d/%d user:u%d`, i, i, i),
			fmt.Sprintf(`g%02d allow exec k user:u%d {"command":"tool%d *"}`, i, i, i),
			fmt.Sprintf(`h%02d allow exec k user:u%d {"command":"make","cwd":"/d/%d"}`, i, i, i),
			fmt.Sprintf(`i%02d allow exec k user:u%d {"command":"*x%d *"}`, i, i, i))
	}
	slices.Reverse(lines)
	set := setOf(t, lines...)
	for i := range 40 {
		for j := range 40 {
			p := policy.Principal{AgentID: "main", UserID: fmt.Sprint("u", i)}
			for _, r := range []policy.Resource{
				file("read", fmt.Sprintf("/d/%d/x", j)), command(fmt.Sprintf("tool%d run", j), ""),
				command("make", fmt.Sprintf("/d/%d", j)), command(fmt.Sprintf("yx%d", j), "/"),
			} {
				want := map[bool]policy.Effect{true: policy.Allow, false: policy.Deny}[i == j]
				if got := set.Evaluate(policy.Request{Principal: p, Tool: "web_fetch", Resources: []policy.Resource{r}}); got.Decision != want {
					t.Errorf("u%d and %+v: got %+v", i, r, got)
				}
			}
		}
	}
}

// Each row on the way down to a file counts, however many there are.
func TestDeepPath(t *testing.T) {
	const depth = 20
	var lines []string
	path := ""
	for i := range depth {
		path += "/d"
		lines = append(lines, fmt.Sprintf("r%02d deny file %s user:u%d", i, path, i))
	}
	set := setOf(t, append(lines, "allow allow file "+path+" any")...)
	for i := range depth + 1 {
		p := policy.Principal{AgentID: "main", UserID: fmt.Sprint("u", i)}
		r := set.Evaluate(policy.Request{Principal: p, Tool: "web_fetch", Resources: []policy.Resource{file("read", path+"/x")}})
		if want := map[bool]policy.Effect{true: policy.Deny, false: policy.Allow}[i < depth]; r.Decision != want {
			t.Errorf("u%d: got %+v", i, r)
		}
	}
}
