package policy_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holm/policy"
)

// The generators draw from few names, so that rows and calls meet often.
var (
	effects    = rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Deny, policy.RequireApproval})
	toolKeys   = rapid.SampledFrom([]string{"exec", "mcp__s__a", "mcp__s__b", "mcp__s__*", "*", "mcp__*__a", "e*c", "other"})
	serverKeys = rapid.SampledFrom([]string{"s", "s*", "*", "q"})
	grants     = rapid.SampledFrom([]policy.Grant{
		policy.Any(), policy.ToRole(policy.Owner), policy.ToRole(policy.User), policy.ToRole(policy.Guest),
		policy.ToUser("ann"), policy.ToUser("bob"), policy.ToUser("agent:main"),
		policy.ToCircle("family"), policy.ToCircle("work"),
	})
	userGrants = rapid.SampledFrom([]policy.Grant{policy.ToUser("ann"), policy.ToUser("bob"), policy.ToUser("agent:main")})
	argPaths   = rapid.SampledFrom([]string{"p", "q", "p.x", "p[]", "p[].x", "p.x.y"})
	globs      = rapid.SampledFrom([]string{
		"a", "*", "?", "a*", "1", "null", "true", "/a", "/a/**", "/a/*", "a/b", "*/b", "**/b", "a/**/b", "./a", "/**", "**", "a/?", "/*/b/**",
	})
	regexes   = rapid.SampledFrom([]string{"a", "a|b", ".*", "^a$", "/a/.*", "(?i)A", `\d+`})
	sandboxes = rapid.SampledFrom([]string{"", "*", "box", "default"})
	modes     = rapid.SampledFrom([]string{"", "*", "read", "write"})
	paths     = rapid.SampledFrom([]string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/a/../ab", "/b//c", "/../a", "/c"})
	commands  = rapid.SampledFrom([]string{"a", "a b", "a  b", "*", "a *", "* b", "a* b", "a * b", "* *", "a;b", "a *;b", "b"})
	cwds      = rapid.SampledFrom([]string{"", "", "/", "/a", "/a/b/", "/ab"})
	ran       = rapid.SampledFrom([]string{"a", "a b", " a \t b", "a x b", "b", "ab b", "a;b", "a *;b", "a\nb", "a *", "*", "a $b", "a b\x00"})
	texts     = rapid.SampledFrom([]string{"a", "b", "ab", "", "/a", "/a/b", "a/b", "/a/../b", "../a", "/a/b/c", "/", "a/b/", "a\nb", "1"})
)

func condition(t *rapid.T) policy.Condition {
	c := policy.Condition{Arg: argPaths.Draw(t, "arg"), Match: policy.MatchGlob, Required: rapid.Bool().Draw(t, "required")}
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		c.Match, c.Pattern = policy.MatchRegex, regexes.Draw(t, "regex")
		return c
	}
	c.Pattern = globs.Draw(t, "glob")
	return c
}

func row(t *rapid.T, id string) policy.Row {
	r := policy.Row{ID: id, AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: toolKeys.Draw(t, "tool"), Effect: effects.Draw(t, "effect")}
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 0, 1:
		r.ResourceType, r.ResourceKey = policy.TypeMCP, serverKeys.Draw(t, "server")
	case 2, 3:
		r.ResourceType, r.ResourceKey = policy.TypeFile, paths.Draw(t, "path")
		r.Scope = policy.Scope{Sandbox: sandboxes.Draw(t, "sandbox"), Mode: modes.Draw(t, "mode")}
	case 4, 5:
		r.ResourceType, r.ResourceKey = policy.TypeExec, "k"
		r.Scope = policy.Scope{Sandbox: sandboxes.Draw(t, "sandbox"), Command: commands.Draw(t, "command"), CWD: cwds.Draw(t, "cwd")}
	}
	r.Grants = rapid.SliceOfN(grants, 0, 2).Draw(t, "grants")
	if isTool(r) && rapid.IntRange(0, 2).Draw(t, "conditional") == 0 {
		r.Scope.Args = rapid.SliceOfN(rapid.Custom(condition), 1, 2).Draw(t, "conditions")
	}
	if rapid.IntRange(0, 3).Draw(t, "origin") == 0 {
		approvalRow(t, &r)
	}
	return r
}

func isTool(r policy.Row) bool {
	return r.ResourceType == policy.TypeTool || r.ResourceType == policy.TypeMCP
}

func approvalRow(t *rapid.T, r *policy.Row) {
	r.Origin, r.Effect = policy.OriginApproval, policy.Allow
	r.Grants = rapid.SliceOfN(userGrants, 0, 2).Draw(t, "users")
	switch rapid.IntRange(0, 3).Draw(t, "bound") {
	case 0:
		r.Scope.Approves = fmt.Sprintf("r%d", rapid.IntRange(0, 3).Draw(t, "approves"))
	case 1:
		r.Scope.ArgsDigest = policy.ArgsDigest(args(t))
	}
}

// rows draws up to forty rows; half the time they crowd on one key, and then half
// the time with one effect, so that the index by grant is used.
func rows(t *rapid.T) []policy.Row {
	var all []policy.Row
	for i := range rapid.IntRange(0, 40).Draw(t, "rows") {
		all = append(all, row(t, fmt.Sprintf("r%d", i)))
	}
	if rapid.Bool().Draw(t, "crowded") {
		alike := rapid.Bool().Draw(t, "alike")
		effect := effects.Draw(t, "shared effect")
		for i, r := range all {
			if alike && r.Origin != policy.OriginApproval {
				all[i].Effect = effect
			}
			switch {
			case isTool(r):
				all[i].ResourceType, all[i].ResourceKey = policy.TypeTool, "mcp__s__a"
			case r.ResourceType == policy.TypeFile:
				all[i].ResourceKey, all[i].Scope.Sandbox, all[i].Scope.Mode = "/a", "", ""
			default:
				all[i].Scope.Command, all[i].Scope.CWD = "a *", ""
			}
		}
	}
	return all
}

func value(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case kind < 4 || depth == 0:
		return texts.Draw(t, "text")
	case kind == 4:
		return rapid.SampledFrom([]any{nil, true, false, 1, 10}).Draw(t, "scalar")
	case kind == 5:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "elements") {
			list = append(list, value(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y"}), rapid.ID).Draw(t, "names") {
		object[name] = value(t, depth-1)
	}
	return object
}

func args(t *rapid.T) policy.Args {
	object := map[string]any{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"p", "q"}), rapid.ID).Draw(t, "args") {
		object[name] = value(t, 2)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := policy.ParseArgs(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func request(t *rapid.T) policy.Request {
	p := policy.Principal{AgentID: "main", UserID: rapid.SampledFrom([]string{"", "ann", "bob", "eve"}).Draw(t, "user")}
	if p.UserID != "" {
		p.Role = rapid.SampledFrom([]policy.Role{"", policy.Owner, policy.User, policy.Guest}).Draw(t, "role")
		p.Circles = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"family", "work", "games"}), rapid.ID).Draw(t, "circles")
	}
	tool := rapid.SampledFrom([]policy.Request{
		{Tool: "exec"}, {Tool: "mcp__s__a", Server: "s"}, {Tool: "mcp__s__b", Server: "s"}, {Tool: "mcp__q__a", Server: "q"}, {Tool: "web_fetch"},
	}).Draw(t, "tool")
	return policy.Request{
		Principal: p, Tool: tool.Tool, Server: tool.Server, Args: args(t),
		Resources: rapid.SliceOfN(rapid.Custom(resource), 0, 2).Draw(t, "resources"),
	}
}

func resource(t *rapid.T) policy.Resource {
	r := policy.Resource{Type: policy.TypeFile, Sandbox: rapid.SampledFrom([]string{"", "box", "other"}).Draw(t, "sandbox")}
	if rapid.Bool().Draw(t, "runs") {
		r.Type, r.Command, r.CWD = policy.TypeExec, ran.Draw(t, "command"), cwds.Draw(t, "cwd")
		return r
	}
	r.Mode = rapid.SampledFrom([]string{policy.ModeRead, policy.ModeWrite}).Draw(t, "mode")
	r.Path = rapid.OneOf(paths, rapid.SampledFrom([]string{"/a/b/c/d", "a", "/a\x00"})).Draw(t, "path")
	return r
}

func options(t *rapid.T) policy.Options {
	return policy.Options{Default: effects.Draw(t, "default"), DefaultGrants: policy.BuiltinGrants}
}

func compile(t *rapid.T, rows []policy.Row, opts policy.Options) *policy.Set {
	set, err := policy.Compile("main", rows, opts)
	if err != nil || len(set.Problems()) > 0 {
		t.Fatalf("%v %v", err, set.Problems())
	}
	return set
}

// width orders decisions from the narrowest to the widest.
func width(e policy.Effect) int {
	return slices.Index([]policy.Effect{policy.Deny, policy.RequireApproval, policy.Allow}, e)
}

func TestEvaluateAgreesWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		got := compile(t, all, opts).Evaluate(req)
		decision, step := reference{all, opts.Default, opts.DefaultGrants}.call(req)
		if got.Decision != decision || got.Step != step {
			t.Fatalf("got %s (%s), reference %s (%s)\nrows %+v\nargs %s\nresources %q", got.Decision, got.Step, decision, step, all, req.Args.Canonical(), req.Resources)
		}
	})
}

func TestOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		shuffled := slices.Clone(all)
		rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))).Shuffle(len(all), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		want := compile(t, all, opts).Explain(req)
		slices.Reverse(req.Principal.Circles)
		got := compile(t, shuffled, opts).Explain(req)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestDenyNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		before := compile(t, all, opts).Evaluate(req)
		deny := row(t, "added")
		deny.Effect, deny.Origin, deny.Scope.Approves, deny.Scope.ArgsDigest = policy.Deny, "", "", ""
		after := compile(t, append(all, deny), opts).Evaluate(req)
		if width(after.Decision) > width(before.Decision) {
			t.Fatalf("%+v widened %s to %s", deny, before.Decision, after.Decision)
		}
	})
}

// However a path or a command is spelled, and whatever else is spelled so in the
// rows, the decision is the same.
func TestSpellingNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		want := compile(t, all, opts).Evaluate(req)
		for i := range req.Resources {
			r := &req.Resources[i]
			r.Path, r.CWD, r.Command = respelled(t, r.Path), respelled(t, r.CWD), blanks(t, r.Command)
		}
		respelledRows := slices.Clone(all)
		for i := range respelledRows {
			s := &respelledRows[i].Scope
			if respelledRows[i].ResourceType == policy.TypeFile {
				s.Path = respelled(t, respelledRows[i].ResourceKey)
			}
			s.CWD, s.Command = respelled(t, s.CWD), blanks(t, s.Command)
		}
		for name, set := range map[string]*policy.Set{"calls": compile(t, all, opts), "rows": compile(t, respelledRows, opts)} {
			got := set.Evaluate(req)
			if inShort(got) != inShort(want) {
				t.Fatalf("with other spellings of %s: got %s, want %s\nresources %q", name, inShort(got), inShort(want), req.Resources)
			}
		}
	})
}

func respelled(t *rapid.T, path string) string {
	if path == "" || path[0] != '/' {
		return path
	}
	before := rapid.SampledFrom([]string{"", "/", "/..", "/x/..", "/."}).Draw(t, "before")
	return before + strings.ReplaceAll(path, "/", rapid.SampledFrom([]string{"/", "//", "/./", "/y/../"}).Draw(t, "slash"))
}

func blanks(t *rapid.T, command string) string {
	if command == "" {
		return command
	}
	blank := rapid.SampledFrom([]string{" ", "  ", "\t", " \t "}).Draw(t, "blank")
	return rapid.SampledFrom([]string{"", blank}).Draw(t, "around") + strings.ReplaceAll(command, " ", blank)
}

// A glob over words allows no text that opens files, substitutes or has control
// characters: only the exact text or * do.
func TestNoShellControlSlipsThroughAGlob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab* ")), 2, 8, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab ")), 0, 6, -1).Draw(t, "before") +
			string(rapid.SampledFrom([]rune(neverCovered)).Draw(t, "control")) +
			rapid.StringOfN(rapid.SampledFrom([]rune("ab ")), 0, 6, -1).Draw(t, "after")
		row := policy.Row{
			ID: "a", AgentID: "main", ResourceType: policy.TypeExec, ResourceKey: "k", Effect: policy.Allow,
			Grants: []policy.Grant{policy.Any()}, Scope: policy.Scope{Command: "a" + pattern + "*"},
		}
		req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch", Resources: []policy.Resource{command(text, "")}}
		if r := compile(t, []policy.Row{row}, policy.Options{DefaultGrants: policy.BuiltinGrants}).Evaluate(req); r.Decision != policy.Deny {
			t.Fatalf("%q lets %q through: %+v", row.Scope.Command, text, r)
		}
	})
}

// What each layer says for itself is what the call as a whole is decided by.
func TestTheStrictestLayerDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		set := compile(t, all, opts)
		each := set.EvaluateEach(req)
		narrowest := slices.MinFunc(each, func(a, b policy.Result) int { return width(a.Decision) - width(b.Decision) })
		if got := set.Evaluate(req); got.Decision != narrowest.Decision {
			t.Fatalf("got %+v of %+v", got, each)
		}
	})
}

// One request that stands for several questions is at no point milder than any.
func TestSettingsAreTheStrictest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []policy.Row
		for i := range rapid.IntRange(1, 4).Draw(t, "rows") {
			all = append(all, policy.Row{
				ID: fmt.Sprintf("r%d", i), AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "t",
				Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()}, Scope: policy.Scope{Approval: settings(t)},
			})
		}
		set := compile(t, all, policy.Options{})
		got := set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t"}).Settings
		for _, r := range all {
			if s := r.Scope.Approval; milder(got, s) {
				t.Fatalf("%+v is milder than %+v", got, s)
			}
		}
		var storable policy.ApprovalSettings
		if got != nil {
			storable = *got
		}
		storable.Merged, storable.EscalateTo, storable.EscalateAfterMinutes = nil, nil, 0
		scope := policy.Scope{Approval: &storable}
		if _, err := policy.ParseScope(policy.TypeTool, scope.Canonical()); err != nil {
			t.Fatalf("%+v could not be stored: %v", got, err)
		}
	})
}

func settings(t *rapid.T) *policy.ApprovalSettings {
	if rapid.IntRange(0, 3).Draw(t, "absent") == 0 {
		return nil
	}
	minutes := rapid.SampledFrom([]int{0, 1, 30, 90})
	s := &policy.ApprovalSettings{
		TTLMinutes: minutes.Draw(t, "ttl"), DeadlineMinutes: minutes.Draw(t, "deadline"), Quorum: rapid.IntRange(0, 3).Draw(t, "quorum"),
		Binding:       rapid.SampledFrom([]policy.Binding{"", policy.BindArguments, policy.BindResource}).Draw(t, "binding"),
		Resolutions:   rapid.SliceOfDistinct(rapid.SampledFrom([]policy.Resolution{policy.Single, policy.Once, policy.Persistent}), rapid.ID).Draw(t, "resolutions"),
		RequireReason: rapid.Bool().Draw(t, "reason"), Risk: rapid.SampledFrom([]policy.Risk{"", policy.RiskLow, policy.RiskMedium, policy.RiskHigh}).Draw(t, "risk"),
	}
	if s.Deadline() > 5*time.Minute {
		s.RemindAfterMinutes = rapid.IntRange(0, 20).Draw(t, "remind")
		if s.EscalateAfterMinutes = rapid.IntRange(0, 20).Draw(t, "escalate"); s.EscalateAfterMinutes > 0 {
			s.EscalateTo = []policy.Grant{policy.Any()}
		}
	}
	if rapid.Bool().Draw(t, "chosen") {
		s.Approvers = []policy.Grant{policy.ToUser(rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "approver"))}
	}
	return s
}

func milder(a, b *policy.ApprovalSettings) bool {
	risk := func(s *policy.ApprovalSettings) int {
		if s == nil {
			return 0
		}
		return slices.Index([]policy.Risk{"", policy.RiskLow, policy.RiskMedium, policy.RiskHigh}, s.Risk)
	}
	offersMore := slices.ContainsFunc(a.Offered(), func(r policy.Resolution) bool { return r != policy.Single && !b.Offers(r) })
	return missesPanel(a, b) || a.TTL() > b.TTL() || a.Deadline() > b.Deadline() || a.Needed() < b.Needed() || offersMore || risk(a) < risk(b) ||
		a.BoundTo() == policy.BindResource && b.BoundTo() == policy.BindArguments || b != nil && b.RequireReason && !a.RequireReason
}

// missesPanel tells whether a would let somebody decide whom b does not name, or
// name them sooner.
func missesPanel(a, b *policy.ApprovalSettings) bool {
	want := b.Panels()[0]
	return a.EscalateAfter() > 0 && a.EscalateAfter() < b.EscalateAfter() || !slices.ContainsFunc(a.Panels(), func(p policy.Panel) bool {
		return cmp.Equal(p.Approvers, want.Approvers) && (len(p.EscalateTo) == 0 || cmp.Equal(p.EscalateTo, want.EscalateTo))
	})
}

// A row that does not speak for a principal gives it nothing; one that an approval
// left takes nothing either.
func TestRowsOfOthersGiveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		added := row(t, "added")
		if policy.Holds(added.Grants, req.Principal) {
			return
		}
		before := compile(t, all, opts).Evaluate(req)
		after := compile(t, append(all, added), opts).Evaluate(req)
		if width(after.Decision) > width(before.Decision) {
			t.Fatalf("%+v widened %s to %s", added, before.Decision, after.Decision)
		}
		if added.Origin == policy.OriginApproval && !cmp.Equal(before, after) {
			t.Fatalf("%+v changed %+v to %+v", added, before, after)
		}
	})
}

func TestListedHidesNothingCallable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		set := compile(t, all, opts)
		listed := set.Listed(req.Principal, req.Tool, req.Server)
		decision := set.Evaluate(req).Decision
		if decision != policy.Deny && !listed {
			t.Fatalf("%s is hidden although its decision is %s", req.Tool, decision)
		}
		decision = set.EvaluateEach(req)[0].Decision
		unconditional := !slices.ContainsFunc(all, func(r policy.Row) bool {
			return len(r.Scope.Args) > 0 || r.Scope.ArgsDigest != ""
		})
		if unconditional && listed != (decision != policy.Deny) {
			t.Fatalf("listed %v, but the decision is always %s", listed, decision)
		}
	})
}

func TestExplainAgreesWithEvaluate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, opts, req := rows(t), options(t), request(t)
		set := compile(t, all, opts)
		got, want := set.Explain(req), set.Evaluate(req)
		if !cmp.Equal(got.Result, want) {
			t.Fatalf("explained %+v, evaluated %+v", got.Result, want)
		}
		named := want.Rule == nil || slices.ContainsFunc(got.Reasons, func(r policy.Reason) bool { return r.RowID == want.Rule.ID })
		if !named {
			t.Fatalf("the rule %s is not among the reasons %+v", want.Rule.ID, got.Reasons)
		}
	})
}
