package engines

import (
	"fmt"
	"slices"
	"testing"

	"holm/policy"
)

// datasets are the sizes of the measurement (docs/performance.md).
var datasets = []struct{ rows, agents int }{
	{10, 1},
	{1_000, 1}, {1_000, 100}, {1_000, 1_000},
	{100_000, 1}, {100_000, 100}, {100_000, 1_000},
}

// decisions gives the answers of an engine to all requests.
func decisions(tb testing.TB, e engine, requests []request) []policy.Effect {
	tb.Helper()
	list := make([]policy.Effect, len(requests))
	for i, q := range requests {
		decide, err := e.prepare(q)
		if err != nil {
			tb.Fatal(err)
		}
		if list[i], err = decide(); err != nil {
			tb.Fatal(err)
		}
	}
	return list
}

// differences describes where two lists of answers are not the same.
func differences(requests []request, a, b []policy.Effect) []string {
	var list []string
	for i := range requests {
		if a[i] != b[i] {
			list = append(list, fmt.Sprintf("%+v: %s, not %s", requests[i], b[i], a[i]))
		}
	}
	return list
}

func TestEnginesDecideAlike(t *testing.T) {
	for _, d := range datasets {
		t.Run(fmt.Sprintf("rows=%d/agents=%d", d.rows, d.agents), func(t *testing.T) {
			rules := makeRules(d.rows, d.agents)
			requests := makeRequests(2_000, d.rows, d.agents)
			if d.rows > 1_000 {
				requests = requests[:200]
			}
			var want []policy.Effect
			for _, c := range contestants {
				if c.linear && d.rows > 1_000 {
					continue
				}
				e, err := c.build(rules)
				if err != nil {
					t.Fatal(err)
				}
				got := decisions(t, e, requests)
				if want == nil {
					want = got
					checkMixed(t, want)
				}
				if wrong := differences(requests, want, got); len(wrong) > 0 {
					t.Errorf("%s decides %d of %d otherwise, first %s", c.name, len(wrong), len(requests), wrong[0])
				}
			}
		})
	}
}

// checkMixed refuses a sample that would let a constant pass.
func checkMixed(t *testing.T, sample []policy.Effect) {
	t.Helper()
	for _, e := range []policy.Effect{policy.Deny, policy.RequireApproval, policy.Allow} {
		n := 0
		for _, got := range sample {
			if got == e {
				n++
			}
		}
		if n*50 < len(sample) {
			t.Errorf("only %d of %d decisions are %s", n, len(sample), e)
		}
	}
}

// TestKnownDecisions compares each engine with answers that no engine gave.
func TestKnownDecisions(t *testing.T) {
	rules := []rule{
		{id: "1", agent: "a", server: "git", tool: "mcp__git__log", effect: policy.Allow, grant: "any"},
		{id: "2", agent: "a", server: "git", tool: "mcp__git__push", effect: policy.Allow, grant: "user:u1", under: "/srv/1"},
		{id: "3", agent: "a", server: "git", effect: policy.RequireApproval, grant: "role:user"},
		{id: "4", agent: "a", server: "git", tool: "mcp__git__push", effect: policy.Deny, grant: "role:guest"},
		{id: "5", agent: "b", server: "git", tool: "mcp__git__push", effect: policy.Allow, grant: "any"},
		{id: "6", agent: "a", server: "git2", tool: "mcp__git2__push", effect: policy.Allow, grant: "role:owner"},
	}
	cases := []struct {
		request
		want policy.Effect
	}{
		{request{"a", "u9", "owner", "git", "mcp__git__log", "/srv/1/x"}, policy.Allow},
		{request{"a", "u9", "user", "git", "mcp__git__log", "/srv/1/x"}, policy.RequireApproval},
		{request{"a", "u1", "owner", "git", "mcp__git__push", "/srv/1/x"}, policy.Allow},
		{request{"a", "u1", "owner", "git", "mcp__git__push", "/srv/10/x"}, policy.Deny},
		{request{"a", "u1", "guest", "git", "mcp__git__push", "/srv/1/x"}, policy.Deny},
		{request{"a", "u1", "user", "git", "mcp__git__push", "/srv/1/x"}, policy.RequireApproval},
		{request{"a", "u2", "owner", "git", "mcp__git__push", "/srv/1/x"}, policy.Deny},
		{request{"b", "u2", "owner", "git", "mcp__git__push", "/srv/1/x"}, policy.Allow},
		{request{"a", "u2", "user", "git2", "mcp__git2__push", "/srv/1/x"}, policy.Deny},
		{request{"a", "u2", "owner", "git2", "mcp__git2__push", "/srv/1/x"}, policy.Allow},
	}
	for _, c := range contestants {
		e, err := c.build(rules)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range cases {
			if got := decisions(t, e, []request{q.request})[0]; got != q.want {
				t.Errorf("%s: %+v: %s, want %s", c.name, q.request, got, q.want)
			}
		}
	}
}

// TestADifferenceShows proves that the comparison can fail: one changed rule is
// enough, of each kind that a rule has.
func TestADifferenceShows(t *testing.T) {
	rules := makeRules(100, 1)
	requests := makeRequests(1_000, 100, 1)
	right, err := buildHolm(rules)
	if err != nil {
		t.Fatal(err)
	}
	want := decisions(t, right, requests)
	changes := map[string]func(*rule) bool{
		"effect":    func(r *rule) bool { ok := r.effect == policy.Allow; r.effect = policy.Deny; return ok },
		"grant":     func(r *rule) bool { ok := r.grant == "role:guest"; r.grant = "any"; return ok },
		"condition": func(r *rule) bool { ok := r.under != "" && r.grant == "any"; r.under = ""; return ok },
		"key":       func(r *rule) bool { ok := r.tool == ""; r.tool = r.server; return ok },
	}
	for name, change := range changes {
		for _, c := range contestants {
			changed := slices.Clone(rules)
			for i := range changed {
				kept := changed[i]
				if change(&changed[i]) {
					break
				}
				changed[i] = kept
			}
			e, err := c.build(changed)
			if err != nil {
				t.Fatal(err)
			}
			if len(differences(requests, want, decisions(t, e, requests))) == 0 {
				t.Errorf("%s: a changed %s was not noticed", c.name, name)
			}
		}
	}
}
