package engines

import (
	"cmp"
	"slices"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"

	"holm/policy"
)

// casbinModel finds the first rule that speaks about the call. Rules are loaded in
// the order deny, require_approval, allow, so the first one decides, and casbin
// stops there: its allow-override effect is the only one that looks at each rule
// once. What the rule does is read from the explanation.
const casbinModel = `
[request_definition]
r = role, user, tool, path

[policy_definition]
p = grant, tool, path, does

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = (p.grant == "any" || p.grant == r.user || p.grant == r.role) && keyMatch(r.tool, p.tool) && keyMatch(r.path, p.path)
`

// casbinColumnDoes is the place of does in a rule.
const casbinColumnDoes = 3

func casbinRule(r rule) []string {
	path := "*"
	if r.under != "" {
		path = r.under + "/*"
	}
	return []string{r.grant, r.key(), path, string(r.effect)}
}

// newEnforcer makes an enforcer with these rules, in any order.
func newEnforcer(base model.Model, rules []rule) (*casbin.Enforcer, error) {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(strictness(a.effect), strictness(b.effect)) })
	lines, seen := make([][]string, 0, len(rules)), map[[4]string]bool{}
	for _, r := range rules {
		line := casbinRule(r)
		// casbin refuses a whole batch when two lines are equal.
		if same := [4]string(line); !seen[same] {
			seen[same] = true
			lines = append(lines, line)
		}
	}
	e, err := casbin.NewEnforcer(base.Copy())
	if err != nil {
		return nil, err
	}
	_, err = e.AddPolicies(lines)
	return e, err
}

func strictness(e policy.Effect) int {
	return slices.Index([]policy.Effect{policy.Deny, policy.RequireApproval, policy.Allow}, e)
}

func enforce(e *casbin.Enforcer, asked []any) (policy.Effect, error) {
	if e == nil {
		return policy.Deny, nil
	}
	ok, rule, err := e.EnforceEx(asked...)
	if err != nil || !ok {
		return policy.Deny, err
	}
	return policy.Effect(rule[casbinColumnDoes]), nil
}

func asked(q request) []any {
	return []any{"role:" + q.role, "user:" + q.user, q.tool, q.path}
}

// casbinEngine has one enforcer for each agent.
type casbinEngine map[string]*casbin.Enforcer

func buildCasbin(rules []rule) (engine, error) {
	return casbinOf(rules, func(r rule) []string { return []string{r.agent} })
}

func (e casbinEngine) prepare(q request) (func() (policy.Effect, error), error) {
	values := asked(q)
	return func() (policy.Effect, error) { return enforce(e[q.agent], values) }, nil
}

// casbinIndexed has one enforcer for each agent and tool, with the rules of the
// tool's server in each, and one for each agent and server, for tools without
// rules of their own. The index is ours. An enforcer for each grant as well would
// need gigabytes at 100,000 rules.
type casbinIndexed struct{ casbinEngine }

func buildCasbinIndexed(rules []rule) (engine, error) {
	tools := map[[2]string][]string{}
	known := map[string]bool{}
	for _, r := range rules {
		if r.tool != "" && !known[r.agent+"/"+r.tool] {
			known[r.agent+"/"+r.tool] = true
			tools[[2]string{r.agent, r.server}] = append(tools[[2]string{r.agent, r.server}], r.tool)
		}
	}
	e, err := casbinOf(rules, func(r rule) []string {
		if r.tool != "" {
			return []string{r.agent + "/" + r.tool}
		}
		all := []string{r.agent + "/" + r.key()}
		for _, tool := range tools[[2]string{r.agent, r.server}] {
			all = append(all, r.agent+"/"+tool)
		}
		return all
	})
	return casbinIndexed{e}, err
}

func (e casbinIndexed) prepare(q request) (func() (policy.Effect, error), error) {
	values, tool, server := asked(q), q.agent+"/"+q.tool, q.agent+"/"+serverPrefix(q.server)+"*"
	return func() (policy.Effect, error) {
		if of := e.casbinEngine[tool]; of != nil {
			return enforce(of, values)
		}
		return enforce(e.casbinEngine[server], values)
	}, nil
}

// casbinOf makes an enforcer for each name that places gives.
func casbinOf(rules []rule, places func(rule) []string) (casbinEngine, error) {
	base, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	groups := map[string][]rule{}
	for _, r := range rules {
		for _, place := range places(r) {
			groups[place] = append(groups[place], r)
		}
	}
	e := casbinEngine{}
	for place, of := range groups {
		if e[place], err = newEnforcer(base, of); err != nil {
			return nil, err
		}
	}
	return e, nil
}
