package policy_test

import (
	"fmt"
	"runtime"
	"testing"

	"holm/policy"
)

// benchSizes are the numbers of rows of the targets in quality.md, "Speed".
var benchSizes = []int{10, 1_000, 100_000}

// benchRows spreads n rows of an agent over tools, servers and people the way
// owners write them: mostly user grants, some globs, some conditions, few denies.
func benchRows(agentID string, n int) []policy.Row {
	rows := make([]policy.Row, n)
	tools := max(1, n/100)
	for i := range rows {
		tool := i % tools
		r := policy.Row{
			ID: fmt.Sprintf("row-%06d", i), AgentID: agentID, ResourceType: policy.TypeTool, Effect: policy.Allow,
			ResourceKey: fmt.Sprintf("mcp__server%d__tool%d", tool%50, tool),
			Grants:      []policy.Grant{policy.ToUser(fmt.Sprintf("user-%d", i/tools))},
		}
		switch i % 20 {
		case 3:
			r.Effect, r.Grants = policy.Deny, []policy.Grant{policy.ToRole(policy.Guest)}
		case 7:
			r.Effect, r.Grants = policy.RequireApproval, []policy.Grant{policy.ToCircle(fmt.Sprintf("circle-%d", i%7))}
		case 11:
			r.Scope.Args = []policy.Condition{{Arg: "path", Match: policy.MatchGlob, Pattern: fmt.Sprintf("/srv/%d/**", i%1000)}}
		case 13:
			r.ResourceKey = fmt.Sprintf("mcp__server%d__*", tool%50)
		case 17:
			r.ResourceType, r.ResourceKey = policy.TypeMCP, fmt.Sprintf("server%d", tool%50)
		}
		rows[i] = r
	}
	return rows
}

func benchRequest(tb testing.TB, agentID string) policy.Request {
	args, err := policy.ParseArgs([]byte(`{"path":"/srv/3/data/file.txt","limit":20}`))
	if err != nil {
		tb.Fatal(err)
	}
	return policy.Request{
		Principal: policy.Principal{AgentID: agentID, UserID: "user-0", Role: policy.User},
		Tool:      "mcp__server0__tool0", Server: "server0", Args: args,
	}
}

// BenchmarkEvaluate decides calls under 10 to 100,000 rows of one agent, and
// 100,000 rows of many.
func BenchmarkEvaluate(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("rows=%d/agents=1", n), func(b *testing.B) { benchEvaluate(b, n, 1) })
	}
	b.Run("rows=100000/agents=100", func(b *testing.B) { benchEvaluate(b, 100_000, 100) })
	b.Run("rows=100000/agents=1000", func(b *testing.B) { benchEvaluate(b, 100_000, 1000) })
}

func benchEvaluate(b *testing.B, n, agents int) {
	sets := map[string]*policy.Set{}
	requests := make([]policy.Request, agents)
	for i := range agents {
		id := fmt.Sprintf("agent-%d", i)
		set, err := policy.Compile(id, benchRows(id, n/agents), policy.Options{})
		if err != nil {
			b.Fatal(err)
		}
		sets[id], requests[i] = set, benchRequest(b, id)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req := requests[i%agents]
		if r := sets[req.Principal.AgentID].Evaluate(req); r.Decision != policy.Allow {
			b.Fatalf("%+v", r)
		}
	}
}

// areaRows spreads n rows over directories and commands.
func areaRows(n int) []policy.Row {
	rows := make([]policy.Row, n)
	for i := range rows {
		r := policy.Row{
			ID: fmt.Sprintf("area-%06d", i), AgentID: "main", ResourceType: policy.TypeFile, Effect: policy.Allow,
			ResourceKey: fmt.Sprintf("/srv/%d/data/%d", i%100, i), Grants: []policy.Grant{policy.Any()},
		}
		switch i % 10 {
		case 3:
			r.Effect = policy.Deny
		case 5:
			r.ResourceType, r.Scope = policy.TypeExec, policy.Scope{Command: fmt.Sprintf("tool-%d run", i)}
		case 6:
			r.ResourceType, r.Scope = policy.TypeExec, policy.Scope{Command: fmt.Sprintf("tool-%d *", i)}
		case 7:
			r.ResourceType, r.Scope = policy.TypeExec, policy.Scope{Command: "git push *", CWD: fmt.Sprintf("/srv/%d", i)}
			r.Effect = policy.RequireApproval
		}
		rows[i] = r
	}
	return rows
}

// BenchmarkResources decides calls that reach a file or run a command.
func BenchmarkResources(b *testing.B) {
	for _, n := range benchSizes {
		set, err := policy.Compile("main", areaRows(n), policy.Options{DefaultGrants: policy.BuiltinGrants})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range areaResources() {
			b.Run(fmt.Sprintf("rows=%d/%s", n, r.Type), func(b *testing.B) {
				req := policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch", Resources: []policy.Resource{r}}
				b.ReportAllocs()
				for b.Loop() {
					if r := set.Evaluate(req); r.Decision != policy.Allow {
						b.Fatalf("%+v", r)
					}
				}
			})
		}
	}
}

func areaResources() []policy.Resource {
	return []policy.Resource{
		{Type: policy.TypeFile, Mode: policy.ModeRead, Path: "/srv/0/data/0/some/deeper/file.txt"},
		{Type: policy.TypeExec, Command: "tool-6 run fast --now", CWD: "/srv/app"},
	}
}

// BenchmarkCompile reports the memory that a set keeps besides its time.
func BenchmarkCompile(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			rows := benchRows("main", n)
			before := heap()
			var set *policy.Set
			for b.Loop() {
				var err error
				if set, err = policy.Compile("main", rows, policy.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(heap()-before)/1e6, "MB-kept")
			runtime.KeepAlive(set)
			runtime.KeepAlive(rows)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkParseArgs(b *testing.B) {
	raw := []byte(`{"path":"/srv/3/data/file.txt","limit":20,"options":{"follow":true,"tags":["a","b"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.ParseArgs(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func TestEvaluateAllocatesNothing(t *testing.T) {
	rows := append(benchRows("main", 1000), areaRows(1000)...)
	set, err := policy.Compile("main", rows, policy.Options{DefaultGrants: policy.BuiltinGrants})
	if err != nil {
		t.Fatal(err)
	}
	req := benchRequest(t, "main")
	req.Resources = areaResources()[:1]
	unlisted := policy.Request{
		Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch",
		Resources: []policy.Resource{{Type: policy.TypeFile, Mode: policy.ModeRead, Path: "/etc/passwd"}},
	}
	runs := func(text, cwd string) policy.Request {
		return policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "web_fetch", Resources: []policy.Resource{command(text, cwd)}}
	}
	for _, c := range []struct {
		name string
		req  policy.Request
		want policy.Effect
		most float64
	}{
		{"both layers allow", req, policy.Allow, 0},
		{"no row covers the file", unlisted, policy.Deny, 0},
		// A command has to be taken apart.
		{"a command is allowed", runs("tool-6 run fast --now", "/srv/app"), policy.Allow, 6},
		{"a row asks about a command", runs("git push --tags", "/srv/17/x"), policy.RequireApproval, 6},
	} {
		if got := set.Evaluate(c.req).Decision; got != c.want {
			t.Errorf("%s: got %s", c.name, got)
		}
		if n := testing.AllocsPerRun(100, func() { set.Evaluate(c.req) }); n > c.most {
			t.Errorf("%s: a decision allocates %v times", c.name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { set.Listed(req.Principal, req.Tool, req.Server) }); n > 0 {
		t.Errorf("listing allocates %v times", n)
	}
}
