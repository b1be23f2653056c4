package policy

import (
	"cmp"
	"slices"
)

// bucket holds the rules of one resource key, by what they do.
type bucket struct {
	denies    section
	asks      section
	allows    section
	approvals section // allow rules that approvals left
	claimed   bool    // some rule claims the resource whatever the arguments are
}

func (b *bucket) add(r *rule) {
	b.claimed = b.claimed || r.claims()
	b.section(r).add(r)
}

func (b *bucket) section(r *rule) *section {
	switch {
	case r.effect == Deny:
		return &b.denies
	case r.effect == RequireApproval:
		return &b.asks
	case r.fromApproval():
		return &b.approvals
	}
	return &b.allows
}

func (b *bucket) finish() {
	for _, part := range []*section{&b.denies, &b.asks, &b.allows, &b.approvals} {
		part.finish()
	}
}

// inOrder returns all rules of the bucket by ID.
func (b *bucket) inOrder() []*rule {
	var all []*rule
	for _, brief := range slices.Concat(b.denies.briefs, b.asks.briefs, b.allows.briefs, b.approvals.briefs) {
		all = append(all, brief.rule)
	}
	slices.SortFunc(all, func(x, y *rule) int { return cmp.Compare(x.order, y.order) })
	return all
}
