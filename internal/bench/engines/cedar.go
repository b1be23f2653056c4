package engines

import (
	"errors"
	"iter"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"

	"holm/policy"
)

// Cedar knows permit and forbid. A deny row and a require_approval row are both a
// forbid; which of them decided is read from the reasons, so that one
// authorization gives all three answers.

// cedarPolicy makes the Cedar policy of a rule. The agent is not part of it: each
// agent has a policy set of its own.
func cedarPolicy(r rule) *cedar.Policy {
	p := ast.Permit()
	if r.effect != policy.Allow {
		p = ast.Forbid()
	}
	switch kind, value := split(r.grant); kind {
	case "role":
		p = p.PrincipalIn(types.NewEntityUID("Role", types.String(value)))
	case "user":
		p = p.PrincipalEq(types.NewEntityUID("User", types.String(value)))
	}
	if r.tool != "" {
		p = p.ResourceEq(types.NewEntityUID("Tool", types.String(r.tool)))
	} else {
		p = p.When(ast.Context().Access("tool").Like(types.NewPattern(serverPrefix(r.server), types.Wildcard{})))
	}
	if r.under != "" {
		p = p.When(ast.Context().Access("path").Like(types.NewPattern(r.under+"/", types.Wildcard{})))
	}
	return cedar.NewPolicyFromAST(p)
}

// cedarCall is a request in Cedar's form.
type cedarCall struct {
	request  types.Request
	entities types.EntityMap
}

func newCedarCall(q request) cedarCall {
	user, role := types.NewEntityUID("User", types.String(q.user)), types.NewEntityUID("Role", types.String(q.role))
	return cedarCall{
		request: types.Request{
			Principal: user,
			Action:    types.NewEntityUID("Action", "call"),
			Resource:  types.NewEntityUID("Tool", types.String(q.tool)),
			Context:   types.NewRecord(types.RecordMap{"tool": types.String(q.tool), "path": types.String(q.path)}),
		},
		entities: types.EntityMap{user: types.Entity{UID: user, Parents: types.NewEntityUIDSet(role)}},
	}
}

// cedarAsks are the ids of the policies that stand for require_approval rows.
type cedarAsks map[cedar.PolicyID]bool

func (asks cedarAsks) decide(policies cedar.PolicyIterator, c cedarCall) (policy.Effect, error) {
	decision, why := cedar.Authorize(policies, c.entities, c.request)
	if len(why.Errors) > 0 {
		return "", errors.New(why.Errors[0].Message)
	}
	if decision == cedar.Allow {
		return policy.Allow, nil
	}
	for _, reason := range why.Reasons {
		if !asks[reason.PolicyID] {
			return policy.Deny, nil
		}
	}
	if len(why.Reasons) > 0 {
		return policy.RequireApproval, nil
	}
	return policy.Deny, nil
}

// cedarEngine is cedar-go as its documentation shows it: a policy set, here one for
// each agent.
type cedarEngine struct {
	asks cedarAsks
	sets map[string]*cedar.PolicySet
}

func buildCedar(rules []rule) (engine, error) {
	e := cedarEngine{asks: cedarAsks{}, sets: map[string]*cedar.PolicySet{}}
	for _, r := range rules {
		set := e.sets[r.agent]
		if set == nil {
			set = cedar.NewPolicySet()
			e.sets[r.agent] = set
		}
		set.Add(cedar.PolicyID(r.id), cedarPolicy(r))
		if r.effect == policy.RequireApproval {
			e.asks[cedar.PolicyID(r.id)] = true
		}
	}
	return e, nil
}

func (e cedarEngine) prepare(q request) (func() (policy.Effect, error), error) {
	c := newCedarCall(q)
	return func() (policy.Effect, error) { return e.asks.decide(e.sets[q.agent], c) }, nil
}

// cedarIndexed hands cedar-go only the policies whose agent, tool or server, and
// grant are those of the call. The index is ours; the library has none.
type cedarIndexed struct {
	asks    cedarAsks
	buckets map[bucket][]cedarEntry
}

type cedarEntry struct {
	id     cedar.PolicyID
	policy *cedar.Policy
}

// bucket is where a rule is found: about names a tool, or a server's prefix.
type bucket struct{ agent, about, grant string }

func (r rule) bucket() bucket { return bucket{agent: r.agent, about: r.key(), grant: r.grant} }

// buckets are the places of the rules that may speak about a call.
func (q request) buckets() []bucket {
	var list []bucket
	for _, about := range []string{q.tool, serverPrefix(q.server) + "*"} {
		for _, grant := range q.grants() {
			list = append(list, bucket{agent: q.agent, about: about, grant: grant})
		}
	}
	return list
}

func buildCedarIndexed(rules []rule) (engine, error) {
	e := cedarIndexed{asks: cedarAsks{}, buckets: map[bucket][]cedarEntry{}}
	for _, r := range rules {
		entry := cedarEntry{cedar.PolicyID(r.id), cedarPolicy(r)}
		e.buckets[r.bucket()] = append(e.buckets[r.bucket()], entry)
		if r.effect == policy.RequireApproval {
			e.asks[entry.id] = true
		}
	}
	return e, nil
}

func (e cedarIndexed) prepare(q request) (func() (policy.Effect, error), error) {
	c, places := newCedarCall(q), q.buckets()
	return func() (policy.Effect, error) { return e.asks.decide(candidates{e.buckets, places}, c) }, nil
}

// candidates are the policies of some buckets.
type candidates struct {
	buckets map[bucket][]cedarEntry
	places  []bucket
}

func (c candidates) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, place := range c.places {
			for _, entry := range c.buckets[place] {
				if !yield(entry.id, entry.policy) {
					return
				}
			}
		}
	}
}
