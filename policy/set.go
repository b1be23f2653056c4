package policy

import (
	"cmp"
	"slices"
	"strings"
)

// Options are what a set needs besides the rows.
type Options struct {
	// Default is the agent's default decision: it holds for a tool about which no
	// row and no declaration says anything. Empty means Deny.
	Default Effect
	// DefaultGrants returns the grants that a tool of Holm's own declares, and false
	// for a tool that is none; a tool that declares nothing for itself has a grant to
	// any. It is not asked about tools of upstream servers. It must be safe for
	// concurrent use and must not change its answers; nil knows no tool. See
	// [BuiltinGrants].
	DefaultGrants func(tool string) ([]Grant, bool)
}

// Problem is a stored row that cannot be used as it is.
type Problem struct {
	RowID string
	// Err is an [*InvalidError].
	Err error
}

// Set is the compiled policy of one agent. It never changes and is safe for
// concurrent use.
type Set struct {
	agentID  string
	bareKey  string // the requester of the agent's key
	fallback Effect
	declared func(tool string) ([]Grant, bool)
	tools    index
	servers  index
	areas    areas
	users    userNumbers
	problems []Problem
}

// Compile makes the policy of an agent from its rows, in any order. The set keeps
// a copy of the slice, but the caller must not change what the rows point to. A row
// of [VirtualRows] gives way to a person's row for the same tool.
//
// A row that cannot be used counts as a deny for those it speaks about, or for
// everybody when its grants cannot be read; [Set.Problems] tells of it. A row of
// another agent, or of no known type, is left out and told of likewise. The only
// errors are those of the caller: no agent, or a default that is no effect.
func Compile(agentID string, rows []Row, opts Options) (*Set, error) {
	if agentID == "" {
		return nil, invalid("agentId", "is empty")
	}
	fallback := cmp.Or(opts.Default, Deny)
	if !fallback.Valid() {
		return nil, invalid("default_decision", "unknown effect %q: want allow, deny or require_approval", clip(string(fallback)))
	}
	s := &Set{agentID: agentID, bareKey: agentRequester(agentID), fallback: fallback, declared: opts.DefaultGrants, users: userNumbers{}}
	patterns := newPatternCache()
	for i, row := range inOrder(withoutReplaced(rows)) {
		s.add(row, int32(i), patterns)
	}
	s.tools.finish()
	s.servers.finish()
	s.areas.finish()
	return s, nil
}

// AgentID returns the agent whose policy this is.
func (s *Set) AgentID() string { return s.agentID }

// Problems returns the rows that cannot be used as they are, in the order of
// their ids.
func (s *Set) Problems() []Problem { return slices.Clone(s.problems) }

// inOrder returns pointers to a copy of the rows, ordered by id. Rows that share
// an id are ordered by the rest, so that no order of input ever shows.
func inOrder(rows []Row) []*Row {
	kept := slices.Clone(rows)
	ordered := make([]*Row, len(kept))
	for i := range kept {
		ordered[i] = &kept[i]
	}
	slices.SortFunc(ordered, func(a, b *Row) int {
		if order := strings.Compare(a.ID, b.ID); order != 0 {
			return order
		}
		return strings.Compare(a.fingerprint(), b.fingerprint())
	})
	return ordered
}

// fingerprint tells rows with the same id apart.
func (r *Row) fingerprint() string {
	parts := []string{r.ResourceType, r.ResourceKey, string(r.Effect), string(r.Origin), string(r.Scope.Canonical())}
	for _, g := range r.Grants {
		parts = append(parts, g.String())
	}
	return strings.Join(parts, "\x00")
}

func (s *Set) add(row *Row, order int32, patterns *patternCache) {
	if row.AgentID != s.agentID {
		s.report(row, invalid("agentId", "the row belongs to another agent"))
		return
	}
	r := newRule(row, order, patterns, s.users)
	if r.broken != nil {
		s.report(row, r.broken)
	}
	switch row.ResourceType {
	case TypeTool:
		s.tools.add(r)
	case TypeMCP:
		s.servers.add(r)
	case TypeFile, TypeExec:
		s.areas.add(r)
	}
}

func (s *Set) report(row *Row, err *InvalidError) {
	s.problems = append(s.problems, Problem{RowID: row.ID, Err: err})
}
