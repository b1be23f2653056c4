package policy_test

import (
	"encoding/json"
	"fmt"

	"holm/policy"
)

// An agent's owner may read everything, others only below /srv/public, and each
// push waits for approval.
func Example() {
	scope, err := policy.ParseScope(policy.TypeTool, json.RawMessage(
		`{"args":[{"arg":"path","match":"glob","pattern":"/srv/public/**","required":true}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := policy.Compile("main", []policy.Row{
		{ID: "all", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "mcp__fs__*", Effect: policy.Allow, Grants: []policy.Grant{policy.ToRole(policy.Owner)}},
		{ID: "public", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "mcp__fs__read", Effect: policy.Allow, Grants: []policy.Grant{policy.Any()}, Scope: scope},
		{ID: "push", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "mcp__git__push", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()}},
	}, policy.Options{DefaultGrants: policy.BuiltinGrants})
	if err != nil {
		fmt.Println(err)
		return
	}

	guest := policy.Principal{AgentID: "main", UserID: "gus", Role: policy.Guest}
	for _, call := range []struct{ tool, server, args string }{
		{"mcp__fs__read", "fs", `{"path":"/srv/public/a.txt"}`},
		{"mcp__fs__read", "fs", `{"path":"/srv/public/../secret"}`},
		{"mcp__git__push", "git", `{}`},
	} {
		args, err := policy.ParseArgs(json.RawMessage(call.args))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(set.Explain(policy.Request{Principal: guest, Tool: call.tool, Server: call.server, Args: args}))
	}
	// Output:
	// allow: rule "public"
	// deny: no rule or default grant lets this caller in; rule "public": argument "path" does not match the rule's pattern; rule "all": speaks for role:owner, not for this caller
	// require_approval: rule "push"
}

func ExampleCompile() {
	set, err := policy.Compile("main", []policy.Row{
		{ID: "r1", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "exec", Effect: "permit", Grants: []policy.Grant{policy.Any()}},
	}, policy.Options{Default: policy.Allow})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, problem := range set.Problems() {
		fmt.Println(problem.RowID, problem.Err)
	}
	// Output: r1 effect: unknown effect "permit": want allow, deny or require_approval
}

func ExampleSet_Evaluate() {
	set, err := policy.Compile("main", nil, policy.Options{DefaultGrants: policy.BuiltinGrants})
	if err != nil {
		fmt.Println(err)
		return
	}
	owner := policy.Principal{AgentID: "main", UserID: "ann", Role: policy.Owner}
	key := policy.Principal{AgentID: "main"}
	fmt.Println(set.Evaluate(policy.Request{Principal: owner, Tool: "exec"}).Decision)
	fmt.Println(set.Evaluate(policy.Request{Principal: key, Tool: "exec"}).Decision)
	fmt.Println(set.Evaluate(policy.Request{Principal: key, Tool: "web_fetch"}).Decision)
	// Output:
	// allow
	// deny
	// allow
}

func ExampleSet_Listed() {
	set, err := policy.Compile("main", []policy.Row{
		{ID: "r1", AgentID: "main", ResourceType: policy.TypeMCP, ResourceKey: "git", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.ToRole(policy.User)}},
	}, policy.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Listed(policy.Principal{AgentID: "main", UserID: "bob", Role: policy.User}, "mcp__git__log", "git"))
	fmt.Println(set.Listed(policy.Principal{AgentID: "main", UserID: "gus", Role: policy.Guest}, "mcp__git__log", "git"))
	// Output:
	// true
	// false
}

func ExampleArgsDigest() {
	one, _ := policy.ParseArgs(json.RawMessage(`{"n": 1, "to": "main"}`))
	two, _ := policy.ParseArgs(json.RawMessage(`{"to":"main","n":1}`))
	fmt.Println(policy.ArgsDigest(one) == policy.ArgsDigest(two))
	// Output: true
}
