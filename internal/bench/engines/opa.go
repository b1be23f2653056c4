package engines

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"holm/policy"
)

// opaModule asks the strictest effect first and stops at the first that applies.
// The data are nested the way they are asked for: agent, tool or server, effect,
// grant, directories.
const opaModule = `package holm

default decision := "deny"

decision := "deny" if {
	applies("deny")
} else := "require_approval" if {
	applies("require_approval")
} else := "allow" if {
	applies("allow")
}

applies(effect) if {
	some about in input.about
	some grant in input.grants
	some directory in data.rules[input.agent][about][effect][grant]
	startswith(input.path, directory)
}
`

// opaEngine is a prepared query over data in memory, kept in the form that the
// evaluator reads without conversion.
type opaEngine struct{ query rego.PreparedEvalQuery }

func buildOPA(rules []rule) (engine, error) {
	store := inmem.NewFromObjectWithOpts(map[string]any{"rules": opaData(rules)}, inmem.OptReturnASTValuesOnRead(true), inmem.OptRoundTripOnWrite(false))
	query, err := rego.New(
		rego.Query("data.holm.decision"),
		rego.Module("holm.rego", opaModule),
		rego.Store(store),
	).PrepareForEval(context.Background())
	if err != nil {
		return nil, fmt.Errorf("prepare query: %w", err)
	}
	return opaEngine{query}, nil
}

func opaData(rules []rule) map[string]any {
	data := map[string]any{}
	for _, r := range rules {
		effects := child(child(data, r.agent), r.key())
		grants := child(effects, string(r.effect))
		directory := ""
		if r.under != "" {
			directory = r.under + "/"
		}
		list, _ := grants[r.grant].([]any)
		grants[r.grant] = append(list, directory)
	}
	return data
}

func child(of map[string]any, name string) map[string]any {
	m, ok := of[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[name] = m
	}
	return m
}

func (e opaEngine) prepare(q request) (func() (policy.Effect, error), error) {
	grants := []any{}
	for _, g := range q.grants() {
		grants = append(grants, g)
	}
	input, err := ast.InterfaceToValue(map[string]any{
		"agent": q.agent, "about": []any{q.tool, serverPrefix(q.server) + "*"}, "grants": grants, "path": q.path,
	})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func() (policy.Effect, error) {
		results, err := e.query.Eval(ctx, rego.EvalParsedInput(input))
		if err != nil {
			return "", err
		}
		decision, ok := results[0].Expressions[0].Value.(string)
		if !ok {
			return "", fmt.Errorf("no decision in %v", results)
		}
		return policy.Effect(decision), nil
	}, nil
}
