package steerholm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holm/policy"
)

// firstMatch is Steerholm's rule over patterns that hold * only, for calls that
// carry the argument path: the first rule whose pattern fits decides alone.
func firstMatch(list []permission, tool, path string) bool {
	for _, p := range list {
		if !fits(p.Name, tool) {
			continue
		}
		for _, a := range p.Policies {
			if !fits(a.Pattern, path) {
				return false
			}
		}
		return true
	}
	return false
}

// fits compares as fnmatch does.
func fits(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return fits(pattern[1:], text) || text != "" && fits(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && fits(pattern[1:], text[1:])
}

var (
	letters  = rapid.StringOfN(rapid.RuneFrom([]rune("ab*")), 1, 4, -1)
	listGen  = rapid.SliceOfN(rapid.Custom(drawPermission), 1, 5)
	plainGen = rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 1, 4, -1)
)

func drawPermission(t *rapid.T) permission {
	p := permission{Name: letters.Draw(t, "tool")}
	for range rapid.IntRange(0, 2).Draw(t, "conditions") {
		p.Policies = append(p.Policies, argumentPolicy{Arg: "path", Match: "glob", Pattern: letters.Draw(t, "pattern")})
	}
	return p
}

// translate gives the compiled rows of one agent on one server.
func translate(t interface{ Fatal(...any) }, list []permission) *policy.Set {
	tr := &translator{out: &Import{}}
	rows := tr.rules(Agent{Name: "a", Was: "a"}, "s", list)
	for i := range rows {
		rows[i].ID = fmt.Sprint(i)
	}
	set, err := policy.Compile("a", rows, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func allows(t interface{ Fatal(...any) }, set *policy.Set, tool, path string) bool {
	raw, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	args, err := policy.ParseArgs(raw)
	if err != nil {
		t.Fatal(err)
	}
	return set.Evaluate(policy.Request{
		Principal: policy.Principal{AgentID: "a"}, Tool: "mcp__s__" + tool, Server: "s", Args: args,
	}).Decision == policy.Allow
}

// TestRowsNeverAllowMore is the promise of the package: whatever the rules and
// their order, no call passes that Steerholm would have refused.
func TestRowsNeverAllowMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := listGen.Draw(t, "rules")
		set := translate(t, list)
		for range 8 {
			tool, path := plainGen.Draw(t, "tool"), plainGen.Draw(t, "path")
			if allows(t, set, tool, path) && !firstMatch(list, tool, path) {
				t.Fatalf("tool %s with path %s passes rules %+v", tool, path, list)
			}
		}
	})
}

// TestRowsAllowTheSameWithoutOverlap is the other half: rules that do not meet
// each other keep their meaning exactly.
func TestRowsAllowTheSameWithoutOverlap(t *testing.T) {
	list := []permission{
		{Name: "read_*", Policies: []argumentPolicy{{Arg: "path", Match: "glob", Pattern: "a*"}}},
		{Name: "write", Policies: []argumentPolicy{{Arg: "path", Match: "regex", Pattern: "b+"}}},
		{Name: "list"},
	}
	set := translate(t, list)
	for call, want := range map[string]bool{
		"read_x a": true, "read_x b": false, "write bb": true, "write bbx": true, "write a": false, "list z": true, "other a": false,
	} {
		tool, path, _ := strings.Cut(call, " ")
		if got := allows(t, set, tool, path); got != want {
			t.Errorf("%s: allowed %v, want %v", call, got, want)
		}
	}
}

// TestPatternsMeet compares overlap and covers with what the patterns match.
func TestPatternsMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		for range 8 {
			tool := plainGen.Draw(t, "tool")
			if fits(a, tool) && fits(b, tool) && !overlap(a, b) {
				t.Fatalf("%s fits %s and %s, which are said not to overlap", tool, a, b)
			}
			if covers(a, b) && fits(b, tool) && !fits(a, tool) {
				t.Fatalf("%s is said to cover %s, and %s fits only the latter", a, b, tool)
			}
		}
	})
	for _, c := range []struct {
		a, b            string
		overlap, covers bool
	}{
		{"*", "read_*", true, true}, {"read_*", "*", true, false}, {"read_*", "read_*", true, true},
		{"read_*", "write_*", false, false}, {"*_file", "read_*", true, false}, {"read_*", "READ_x", true, false},
		{"get_?", "get_a", true, true}, {"get_?", "get_*", true, false}, {"get_[ab]", "get_a", true, false}, {"é?", "éa", true, true},
	} {
		if overlap(c.a, c.b) != c.overlap || covers(c.a, c.b) != c.covers {
			t.Errorf("%s and %s: overlap %v, covers %v", c.a, c.b, overlap(c.a, c.b), covers(c.a, c.b))
		}
	}
}
