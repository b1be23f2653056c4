package engines

import "holm/policy"

// engine is one compiled set of rules.
type engine interface {
	// prepare brings a request into the engine's own form. The function it returns
	// decides it, again at each call: the function is what is measured.
	prepare(q request) (func() (policy.Effect, error), error)
}

// contestant is an engine to be measured, with the name of its figures.
type contestant struct {
	name  string
	build func(rules []rule) (engine, error)
	// linear engines go through all rules of an agent for each decision. They are
	// measured with one agent only.
	linear bool
}

// contestants begin with Holm, the reference of the ratios.
var contestants = []contestant{
	{name: "holm", build: buildHolm},
	{name: "cedar-go_indexed", build: buildCedarIndexed},
	{name: "cedar-go", build: buildCedar, linear: true},
	{name: "casbin_indexed", build: buildCasbinIndexed},
	{name: "casbin", build: buildCasbin, linear: true},
	{name: "opa", build: buildOPA},
}
