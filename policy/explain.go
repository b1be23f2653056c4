package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Reason is one row's part in a decision.
type Reason struct {
	RowID        string
	Effect       Effect
	ResourceType string
	ResourceKey  string
	// Why says in words why the row took part, or why it did not. It may name
	// arguments and grants, and never holds an argument's value.
	Why string
}

// Explanation is a decision with its reasons. Reasons and Near are ordered like
// the choice of Result.Rule: the most specific key first, then by ID.
type Explanation struct {
	Result
	// Reasons are the rows that match the call and speak for the principal.
	Reasons []Reason
	// Near are the rows about the tool or its server that do not match the call, or
	// do not speak for the principal.
	Near []Reason
}

// Explain decides like [Set.Evaluate] and names every row about the tool. It is
// for people and the audit log; it allocates.
func (s *Set) Explain(req Request) Explanation {
	e := Explanation{Result: s.Evaluate(req)}
	if e.Step == StepForeign {
		return e
	}
	c := call{who: s.caller(&req.Principal), args: req.Args}
	for _, b := range s.find(nil, req.Tool, req.Server) {
		for _, r := range b.inOrder() {
			e.add(r, &c)
		}
	}
	return e
}

func (e *Explanation) add(r *rule, c *call) {
	reason := Reason{
		RowID: r.row.ID, Effect: r.row.Effect,
		ResourceType: r.row.ResourceType, ResourceKey: r.row.ResourceKey,
	}
	if obstacle := r.obstacle(c); obstacle != "" {
		reason.Why = obstacle
		e.Near = append(e.Near, reason)
		return
	}
	reason.Why = r.ground(c)
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
	case StepNoGrant:
		return "deny: no rule or default grant lets this caller in" + e.closest()
	case StepAllow:
		if e.Declared {
			return "allow: the tool's default grants"
		}
	case StepApproved:
		return fmt.Sprintf("allow: rule %q, left by an approval", e.Rule.ID)
	}
	return fmt.Sprintf("%s: rule %q", e.Decision, e.Rule.ID)
}

// closest names the allow rows that came near.
func (e Explanation) closest() string {
	var near strings.Builder
	for _, n := range e.Near {
		if n.Effect == Allow {
			fmt.Fprintf(&near, "; rule %q: %s", n.RowID, n.Why)
		}
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
	first := slices.IndexFunc(r.row.Grants, func(g Grant) bool { return holdsFor([]Grant{g}, &c.who) })
	return r.row.Grants[first].String()
}

// obstacle says why a rule does not hold; empty when it does.
func (r *rule) obstacle(c *call) string {
	if !r.speaksFor(&c.who) {
		return "speaks for " + r.audience() + ", not for this caller"
	}
	for i := range r.conditions {
		if !r.conditions[i].holds(r.effect, c.args) {
			return r.conditions[i].obstacle(c.args)
		}
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

func (c *condition) obstacle(args Args) string {
	t := c.judge(args)
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
