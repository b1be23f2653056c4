package policy

import (
	"fmt"
	"slices"
)

// besides finds a row without conditions that allows all that r allows under some.
func (l *linter) besides(r *rule) {
	if r.effect != Allow || len(r.conditions) == 0 || r.fromApproval() {
		return
	}
	for _, other := range l.rules {
		if other.effect == Allow && len(other.conditions) == 0 && !other.fromApproval() && spansGrants(other, r) && l.spansTools(other, r) {
			l.report(r, FindingOpenBeside, "row %q allows all of it without conditions", other.row.ID)
			return
		}
	}
}

// spansTools reports whether the rule is about all tools that r is about: by its
// key, or as one about the server of each tool that is known.
func (l *linter) spansTools(other, r *rule) bool {
	if other.row.ResourceType == r.row.ResourceType {
		return other.spansKey(r)
	}
	reached := ReachedBy(*r.row, l.Tools)
	server := parseStars(other.row.ResourceKey)
	return other.row.ResourceType == TypeMCP && len(reached) > 0 &&
		!slices.ContainsFunc(reached, func(t ToolInfo) bool { return t.Server == "" || !server.matches(t.Server) })
}

// people finds users and circles that are not there, and questions that nobody, or
// too few, can answer.
func (l *linter) people(r *rule) {
	if l.People == nil {
		return
	}
	grants := r.row.Grants
	if a := r.row.Scope.Approval; a != nil {
		grants = slices.Concat(grants, a.Approvers, a.EscalateTo)
	}
	for i, g := range grants {
		if slices.Index(grants, g) == i {
			l.somebody(r, g)
		}
	}
	if r.effect == RequireApproval {
		l.quorum(r)
	}
}

func (l *linter) somebody(r *rule, g Grant) {
	has := func(holds func(Principal) bool) bool { return slices.ContainsFunc(l.People, holds) }
	switch {
	case g.Type == GrantUser && !has(func(p Principal) bool { return p.Requester() == g.Value }):
		l.report(r, FindingUnknownUser, "user %q is none of the agent's people", g.Value)
	case g.Type == GrantCircle && !has(func(p Principal) bool { return slices.Contains(p.Circles, g.Value) }):
		l.report(r, FindingEmptyCircle, "nobody is in circle %q", g.Value)
	}
}

// quorum counts who can approve, those whom the question reaches later included.
func (l *linter) quorum(r *rule) {
	settings := r.row.Scope.Approval
	can := 0
	for _, p := range l.People {
		if p.UserID != "" && slices.ContainsFunc(settings.Panels(), func(panel Panel) bool {
			return Holds(panel.Approvers, p) || Holds(panel.EscalateTo, p)
		}) {
			can++
		}
	}
	if needed := settings.Needed(); can < needed {
		l.report(r, FindingUnreachable, "it wants %s, and %s can approve", inWords(needed, "approval", "approvals"), inWords(can, "person", "people"))
	}
}

func inWords(n int, one, more string) string {
	switch n {
	case 0:
		return "nobody"
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// openTools finds tools that a conditional allow row opens for any arguments.
func (l *linter) openTools(r *rule, names ArgumentNames) {
	if n := len(names.Open); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		l.report(r, FindingToolsOpen, "%s%s: without an argument that its conditions are about, so open for any", names.Open[0], more)
	}
}
