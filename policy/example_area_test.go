package policy_test

import (
	"fmt"

	"holm/policy"
)

// Guests read what is public; a push of anybody's waits for approval.
func ExampleSet_Evaluate_resources() {
	set, err := policy.Compile("main", []policy.Row{
		{ID: "all", AgentID: "main", ResourceType: policy.TypeFile, ResourceKey: "/", Effect: policy.Allow, Grants: []policy.Grant{policy.ToRole(policy.User)}},
		{ID: "public", AgentID: "main", ResourceType: policy.TypeFile, ResourceKey: "/public", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}},
		{ID: "push", AgentID: "main", ResourceType: policy.TypeExec, ResourceKey: "git push *", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()}},
	}, policy.Options{Default: policy.Allow})
	if err != nil {
		fmt.Println(err)
		return
	}
	guest := policy.Principal{AgentID: "main", UserID: "gus", Role: policy.Guest}
	for _, r := range []policy.Resource{
		{Type: policy.TypeFile, Mode: policy.ModeRead, Path: "/public/a.txt"},
		{Type: policy.TypeFile, Mode: policy.ModeRead, Path: "/public/../a.txt"},
		{Type: policy.TypeExec, Command: "cd /srv && git push"},
	} {
		result := set.Evaluate(policy.Request{Principal: guest, Tool: "run", Resources: []policy.Resource{r}})
		fmt.Println(result.Decision, "by the layer", result.Layer)
	}
	// Output:
	// allow by the layer tool
	// deny by the layer file
	// require_approval by the layer exec
}

func ExampleLint() {
	findings := policy.Lint([]policy.Row{
		{ID: "log", AgentID: "main", ResourceType: policy.TypeExec, ResourceKey: "git log * | head", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}},
	}, policy.World{})
	for _, f := range findings {
		fmt.Println(f.RowID, f.Code)
	}
	// Output: log never_matches
}

func ExampleLockOut() {
	compile := func(rows ...policy.Row) *policy.Set {
		set, err := policy.Compile("main", rows, policy.Options{DefaultGrants: policy.BuiltinGrants})
		if err != nil {
			panic(err)
		}
		return set
	}
	ask := policy.Row{AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "exec", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.ToRole(policy.Guest)}}
	tools := []policy.Tool{{Name: "exec"}}
	owner, guest := policy.Principal{AgentID: "main", UserID: "ann", Role: policy.Owner}, policy.Principal{AgentID: "main", UserID: "gus", Role: policy.Guest}
	before, after := compile(), compile(ask)
	for _, l := range policy.LockOut(before, after, tools, []policy.Principal{owner, guest}) {
		fmt.Println(l.Principal.UserID, "loses", l.Tool.Name)
	}
	kept := compile(append(policy.KeepDefaults(nil, ask), ask)...)
	fmt.Println(len(policy.LockOut(before, kept, tools, []policy.Principal{owner, guest})), "losses with the defaults kept")
	// Output:
	// ann loses exec
	// 0 losses with the defaults kept
}
