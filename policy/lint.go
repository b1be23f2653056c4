package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Lint looks for rows that do not do what they seem to. The findings are ordered by
// row, then code, then message.
func Lint(rows []Row, world World) []Finding {
	l := newLinter(rows, world)
	for _, r := range l.rules {
		l.check(r)
	}
	l.hidden()
	return l.inOrder()
}

// LintRow looks at one of the rows alone: for who has just written it.
func LintRow(rows []Row, id string, world World) []Finding {
	l := newLinter(rows, world)
	for _, r := range l.rules {
		if r.row.ID == id {
			l.check(r)
		}
	}
	return l.inOrder()
}

func newLinter(rows []Row, world World) *linter {
	l := &linter{World: world}
	patterns, users := newPatternCache(), userNumbers{}
	for i, row := range inOrder(withoutReplaced(rows)) {
		l.rules = append(l.rules, newRule(row, int32(i), patterns, users))
	}
	return l
}

func (l *linter) inOrder() []Finding {
	slices.SortFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.RowID, b.RowID), strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Message, b.Message))
	})
	return l.findings
}

type linter struct {
	World
	rules    []*rule
	findings []Finding
}

func (l *linter) report(r *rule, code Code, format string, args ...any) {
	l.findings = append(l.findings, Finding{RowID: r.row.ID, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (l *linter) check(r *rule) {
	if r.broken != nil {
		l.report(r, FindingUnusable, "it counts as a deny: %s", r.broken)
		return
	}
	if len(r.row.Grants) == 0 {
		l.report(r, FindingNobody, "it has no grants; %s", nobodyMeans(r))
	}
	l.people(r)
	if r.area == nil {
		l.checkTool(r)
		l.besides(r)
	} else {
		l.checkCommand(r)
	}
	if deny := l.overruling(r); deny != nil {
		l.report(r, FindingOverruled, "row %q denies all of it", deny.row.ID)
	}
}

func nobodyMeans(r *rule) string {
	if r.claims() && r.area == nil {
		return "it only takes the place of default grants"
	}
	return "it gives nobody anything"
}

// overruling returns a deny row that holds whenever r does.
func (l *linter) overruling(r *rule) *rule {
	if r.effect == Deny || len(r.row.Grants) == 0 {
		return nil
	}
	for _, deny := range l.rules {
		if deny.effect == Deny && len(deny.conditions) == 0 && deny.row.ResourceType == r.row.ResourceType &&
			deny.spansKey(r) && spansGrants(deny, r) {
			return deny
		}
	}
	return nil
}

// spansKey reports whether r is about all that the other rule is about.
func (r *rule) spansKey(other *rule) bool {
	if r.area == nil {
		// A key is matched like a name: its own stars are but text to the other's.
		return parseStars(r.row.ResourceKey).matches(other.row.ResourceKey)
	}
	a, b := r.area, other.area
	if !spansName(a.sandbox, b.sandbox) || !spansName(a.mode, b.mode) {
		return false
	}
	if r.row.ResourceType == TypeFile {
		return within(b.path, a.path)
	}
	return (a.command.kind == anyCommand || a.command.text == b.command.text && a.command.kind == b.command.kind) &&
		(a.cwd == "" || b.cwd != "" && within(b.cwd, a.cwd))
}

func spansName(a, b string) bool { return a == "*" || a == b }

// spansGrants reports whether r speaks for all that the other rule speaks for.
func spansGrants(r, other *rule) bool {
	if r.any {
		return true
	}
	for _, g := range other.row.Grants {
		if !slices.Contains(r.row.Grants, g) {
			return false
		}
	}
	return true
}
