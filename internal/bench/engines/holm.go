package engines

import (
	"encoding/json"

	"holm/policy"
)

// holmEngine has one compiled set for each agent, as Holm's gateway does.
type holmEngine map[string]*policy.Set

func buildHolm(rules []rule) (engine, error) {
	rows := map[string][]policy.Row{}
	for _, r := range rules {
		rows[r.agent] = append(rows[r.agent], r.row())
	}
	return compileHolm(rows)
}

func compileHolm(rows map[string][]policy.Row) (holmEngine, error) {
	e := holmEngine{}
	for agent, of := range rows {
		set, err := policy.Compile(agent, of, policy.Options{})
		if err != nil {
			return nil, err
		}
		e[agent] = set
	}
	return e, nil
}

func (r rule) row() policy.Row {
	kind, value := split(r.grant)
	row := policy.Row{
		ID: r.id, AgentID: r.agent, ResourceType: policy.TypeTool, ResourceKey: r.key(), Effect: r.effect,
		Grants: []policy.Grant{{Type: policy.GrantKind(kind), Value: value}},
	}
	if r.under != "" {
		row.Scope.Args = []policy.Condition{{Arg: "path", Match: policy.MatchGlob, Pattern: r.under + "/**"}}
	}
	return row
}

func (e holmEngine) prepare(q request) (func() (policy.Effect, error), error) {
	raw, err := json.Marshal(map[string]any{"path": q.path, "limit": 20})
	if err != nil {
		return nil, err
	}
	args, err := policy.ParseArgs(raw)
	if err != nil {
		return nil, err
	}
	call := policy.Request{
		Principal: policy.Principal{AgentID: q.agent, UserID: q.user, Role: policy.Role(q.role)},
		Tool:      q.tool, Server: q.server, Args: args,
	}
	return func() (policy.Effect, error) {
		return e[call.Principal.AgentID].Evaluate(call).Decision, nil
	}, nil
}
