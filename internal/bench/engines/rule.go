package engines

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"holm/policy"
)

// rule is one row in a form that belongs to no engine. All engines can say it.
type rule struct {
	id     string
	agent  string
	server string
	// tool is the tool's full key; empty for every tool of the server, which is
	// the key "mcp__<server>__*".
	tool   string
	effect policy.Effect
	// grant is "any", "role:<role>" or "user:<id>".
	grant string
	// under limits the rule to calls whose argument path lies below this directory;
	// empty for no limit.
	under string
}

// key is the resource key: exact, or with a * at its end.
func (r rule) key() string {
	if r.tool == "" {
		return serverPrefix(r.server) + "*"
	}
	return r.tool
}

func serverPrefix(server string) string { return "mcp__" + server + "__" }

// request is one call. Its path is absolute and clean, so that "below a directory"
// is the same question to a glob, to Cedar's like and to a prefix.
type request struct {
	agent, user, role string
	server, tool      string
	path              string
}

// grants are the grants that hold for the caller.
func (q request) grants() []string {
	return []string{"any", "role:" + q.role, "user:" + q.user}
}

// Each tool of an agent has about rowsPerTool rows, its servers at most maxServers.
const (
	rowsPerTool = 100
	maxServers  = 50
	directories = 8
)

// makeRules spreads n rules over agents the way owners write them: mostly for one
// user on one tool, some for a role or for anybody, some for a whole server, some
// that ask, few that deny, some with a condition on an argument.
func makeRules(n, agents int) []rule {
	rules := make([]rule, 0, n)
	for i := range n {
		agent := i % agents
		rules = append(rules, makeRule(agent, i/agents, toolsOf(n/agents)))
	}
	return rules
}

func toolsOf(rows int) int { return max(1, rows/rowsPerTool) }

// makeRule makes the row'th rule of an agent.
func makeRule(agent, row, tools int) rule {
	tool, user := row%tools, row/tools
	r := rule{
		id: fmt.Sprintf("row-%d-%06d", agent, row), agent: agentName(agent),
		server: serverOf(tool), tool: toolName(tool),
		effect: policy.Allow, grant: "user:" + userName(user),
	}
	// The factor lets each tool have each kind, and small sets several of them.
	switch (7*user + tool + agent) % 20 {
	case 3:
		r.effect, r.grant = policy.Deny, "role:guest"
	case 2:
		r.effect = policy.Deny
	case 7, 9:
		r.effect = policy.RequireApproval
	case 14, 15:
		r.under = directory(user)
	case 16:
		r.grant, r.under = "any", directory(user)
	case 1:
		r.tool = ""
	case 8:
		r.effect, r.tool, r.under = policy.RequireApproval, "", directory(user)
	}
	return r
}

// makeRequests draws n calls of people and tools that the rules know, and of a few
// that they do not. The same arguments give the same requests.
func makeRequests(n, rules, agents int) []request {
	random := rand.New(rand.NewPCG(1, uint64(rules+agents)))
	tools := toolsOf(rules / agents)
	users := min(rowsPerTool, max(1, rules/agents)) + 3
	requests := make([]request, n)
	for i := range requests {
		tool, user := random.IntN(tools), random.IntN(users)
		requests[i] = request{
			agent: agentName(random.IntN(agents)), user: userName(user), role: roleOf(user),
			server: serverOf(tool), tool: toolName(tool),
			path: directory(random.IntN(directories)) + "/data/file.txt",
		}
	}
	return requests
}

func agentName(i int) string { return fmt.Sprintf("agent-%d", i) }
func userName(i int) string  { return fmt.Sprintf("user-%d", i) }
func serverOf(tool int) string {
	return fmt.Sprintf("server%d", tool%maxServers)
}
func toolName(tool int) string { return fmt.Sprintf("%stool%d", serverPrefix(serverOf(tool)), tool) }
func directory(i int) string   { return fmt.Sprintf("/srv/%d", i%directories) }

func roleOf(user int) string {
	switch user % 10 {
	case 0:
		return "owner"
	case 9:
		return "guest"
	}
	return "user"
}

// split parts a grant into its kind and its value.
func split(grant string) (kind, value string) {
	kind, value, _ = strings.Cut(grant, ":")
	return kind, value
}
