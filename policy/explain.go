package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Reason is one row's part in a decision.
type Reason struct {
	RowID        string `json:"rowId"`
	Effect       Effect `json:"effect"`
	ResourceType string `json:"resourceType"`
	ResourceKey  string `json:"resourceKey"`
	// Why says in words why the row took part, or why it did not. It may name
	// arguments, grants and what the row is about, and never holds an argument's value.
	Why string `json:"why"`

	// Note and Maker are the row's.
	Note  string `json:"-"`
	Maker string `json:"-"`
	// Others is set where the row does not speak for the principal.
	Others bool `json:"-"`
	// Unjudged says why the command cannot be judged, where the row counts for that.
	Unjudged string `json:"-"`
}

func quoteClipped(text string) string { return fmt.Sprintf("%q", clip(text)) }

// Explanation is a decision with its reasons; its JSON form is the answer of
// access/check. Reasons and Near are ordered like the choice of Result.Rule: the
// tool layer first, the most specific key first, then by ID.
type Explanation struct {
	Result
	// Reasons are the rows that match the call and speak for the principal.
	Reasons []Reason `json:"reasons"`
	// Near are the rows about the tool or its server that do not match the call, or
	// do not speak for the principal; of the file and exec rows those that come close,
	// at most five for each resource.
	Near   []Reason `json:"near"`
	Layers Layers   `json:"layers"`
	// Problem says what is wrong where the call does not name a resource so that it
	// can be judged, and that decided.
	Problem string `json:"problem,omitempty"`
}

// Explain decides like [Set.Evaluate] and names every row about the tool and the
// resources. It is for people and the audit log; it allocates.
func (s *Set) Explain(req Request) Explanation {
	e := Explanation{Result: s.Evaluate(req), Reasons: []Reason{}, Near: []Reason{}}
	e.Layers = layersOf(s.EvaluateEach(req))
	if e.Step == StepForeign {
		return e
	}
	c := call{who: s.caller(&req.Principal), args: req.Args, definition: req.Definition}
	for _, b := range s.find(nil, req.Tool, req.Server) {
		for _, r := range b.inOrder() {
			e.add(r, &c.who, r.obstacle(&c), r.ground(&c))
		}
	}
	for i := range req.Resources {
		s.explainResource(&e, &req.Resources[i], &c)
	}
	switch {
	case e.Unjudged != "":
		e.Problem = e.unjudged()
	case e.Layer != LayerTool && (e.Step == StepInvalid || e.Step == StepNoGrant):
		e.Problem = req.Resources[e.Resource].problem()
	}
	return e
}

// unjudged says what of the command cannot be judged, and what that means.
func (e *Explanation) unjudged() string {
	why := e.Unjudged
	if e.Part != "" {
		why = quoteClipped(e.Part) + ": " + why
	}
	switch e.Step {
	case StepNoGrant:
		return "only a rule for all commands would allow this: " + why
	case StepApproval:
		return "the command cannot be judged: " + why
	}
	return why
}

// add takes a rule to the reasons, or near them if an obstacle is in its way.
func (e *Explanation) add(r *rule, who *caller, obstacle, ground string) {
	reason := Reason{
		RowID: r.row.ID, Effect: r.row.Effect,
		ResourceType: r.row.ResourceType, ResourceKey: r.row.ResourceKey, Why: ground,
		Note: r.row.Note, Maker: r.row.Maker, Others: !r.speaksFor(who),
	}
	if obstacle != "" {
		reason.Why = obstacle
		e.Near = append(e.Near, reason)
		return
	}
	e.Reasons = append(e.Reasons, reason)
}

// String says the decision in one sentence, for an answer to the caller and for
// `holm explain`. It names rules and arguments, no values.
func (e Explanation) String() string {
	switch e.Step {
	case StepDefault:
		return fmt.Sprintf("%s: no rule is about this call; the agent's default decision holds", e.Decision)
	case StepForeign:
		return "deny: the caller belongs to another agent"
	case StepInvalid:
		return fmt.Sprintf("deny: the %s cannot be judged: %s", e.Layer.noun(), e.Problem)
	case StepNoGrant:
		switch {
		case e.Problem != "":
			return "deny: " + e.Problem
		case e.Layer != LayerTool:
			return fmt.Sprintf("deny: no rule lets this caller at the %s", e.Layer.noun()) + e.part() + e.closest()
		}
		return "deny: no rule or default grant lets this caller in" + e.closest()
	case StepAllow:
		if e.Declared {
			return "allow: the tool's default grants"
		}
	case StepApproved:
		return fmt.Sprintf("allow: rule %q, left by an approval", e.Rule.ID)
	}
	if e.Problem != "" {
		return string(e.Decision) + ": " + e.Problem
	}
	return fmt.Sprintf("%s: rule %q", e.Decision, e.Rule.ID) + e.part()
}

// part names the part of a command that decided.
func (e *Explanation) part() string {
	if e.Part == "" || e.Decision == Allow {
		return ""
	}
	return " for " + quoteClipped(e.Part)
}

func (l Layer) noun() string {
	if l == LayerExec {
		return "command"
	}
	return "file"
}

// mostClosest is how many rows a sentence names.
const mostClosest = 3

// Closest are the allow rows of the layer that decided which came nearest, for a
// sentence: at most three, and first those that speak for the principal.
func (e Explanation) Closest() []Reason {
	var near []Reason
	for _, n := range e.Near {
		if onTool := n.ResourceType == TypeTool || n.ResourceType == TypeMCP; n.Effect == Allow && onTool == (e.Layer == LayerTool) {
			near = append(near, n)
		}
	}
	slices.SortStableFunc(near, func(a, b Reason) int {
		switch {
		case a.Others == b.Others:
			return 0
		case b.Others:
			return -1
		}
		return 1
	})
	return near[:min(len(near), mostClosest)]
}

func (e Explanation) closest() string {
	var near strings.Builder
	for _, n := range e.Closest() {
		fmt.Fprintf(&near, "; rule %q: %s", n.RowID, n.Why)
	}
	return near.String()
}

// ground says why a rule that holds does.
func (r *rule) ground(c *call) string {
	if r.broken != nil {
		return "counts as a deny, since it cannot be used: " + r.broken.Error()
	}
	why := "speaks for " + r.grantFor(c)
	if len(r.conditions) > 0 {
		why += fmt.Sprintf(", and %s", counted(len(r.conditions), "condition"))
	}
	return why
}

func counted(n int, noun string) string {
	if n == 1 {
		return "its " + noun + " holds"
	}
	return fmt.Sprintf("its %d %ss hold", n, noun)
}

func (r *rule) grantFor(c *call) string {
	for _, g := range r.row.Grants {
		if holdsFor([]Grant{g}, &c.who) {
			return g.String()
		}
	}
	return "nobody"
}

// obstacle says why a rule does not hold; empty when it does.
func (r *rule) obstacle(c *call) string {
	if !r.speaksFor(&c.who) {
		return "speaks for " + r.audience() + ", not for this caller"
	}
	for i := range r.conditions {
		if !r.conditions[i].holds(r.effect, c) {
			return r.conditions[i].obstacle(c)
		}
	}
	if r.answers && r.row.Scope.Definition != c.definition {
		return "the approval was for the tool as it was defined and served then"
	}
	if !r.holds(c) {
		return "the approval was for other arguments"
	}
	return ""
}

func (r *rule) audience() string {
	if len(r.row.Grants) == 0 {
		return "nobody"
	}
	const most = 5
	var names []string
	for i, g := range r.row.Grants {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(r.row.Grants)-most))
			break
		}
		names = append(names, g.String())
	}
	return strings.Join(names, ", ")
}

func (c *condition) obstacle(k *call) string {
	t := c.judge(k)
	switch {
	case t.folded:
		return fmt.Sprintf("argument %q is written in another case", c.arg)
	case t.unjudged > 0:
		return fmt.Sprintf("argument %q cannot be judged by the rule's pattern", c.arg)
	case t.differs > 0:
		return fmt.Sprintf("argument %q does not match the rule's pattern", c.arg)
	}
	return fmt.Sprintf("argument %q is missing", c.arg)
}
