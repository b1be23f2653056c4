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

// section holds rules of one effect in stable order.
type section struct {
	rules   []*rule
	byGrant *grantIndex // nil while reading all rules is cheaper

	// Who its rules speak about, so that most sections are passed by unread.
	any, users, circles bool
	roles               uint8
}

func (x *section) add(r *rule) {
	x.rules = append(x.rules, r)
	x.any = x.any || r.any
	x.roles |= r.roles
	x.users = x.users || len(r.users) > 0
	x.circles = x.circles || len(r.circles) > 0
}

// mayConcern is false only if no rule of the section speaks for the caller.
func (x *section) mayConcern(who *caller) bool {
	return x.any || x.users || x.roles&who.role != 0 || x.circles && len(who.circles) > 0
}

// grantIndex finds the rules that speak for a caller. A rule with several grants
// stands in several lists.
type grantIndex struct {
	any     []*rule
	roles   map[uint8][]*rule
	users   map[string][]*rule
	circles map[string][]*rule
}

// smallSection is the length up to which reading all rules costs about as much as
// the look-ups in a grantIndex.
const smallSection = 8

func (x *section) finish() {
	if len(x.rules) <= smallSection {
		return
	}
	x.byGrant = &grantIndex{roles: map[uint8][]*rule{}, users: map[string][]*rule{}, circles: map[string][]*rule{}}
	for _, r := range x.rules {
		x.byGrant.add(r)
	}
}

func (g *grantIndex) add(r *rule) {
	if r.any {
		g.any = append(g.any, r)
		return
	}
	for _, role := range []Role{Owner, User, Guest} {
		if bit := role.bit(); r.roles&bit != 0 {
			g.roles[bit] = append(g.roles[bit], r)
		}
	}
	for _, user := range r.users {
		g.users[user] = append(g.users[user], r)
	}
	for _, circle := range r.circles {
		g.circles[circle] = append(g.circles[circle], r)
	}
}

// first returns the first rule in order that speaks for the caller and holds.
func (x *section) first(c *call) *rule {
	if !x.mayConcern(&c.who) {
		return nil
	}
	if x.byGrant == nil {
		return c.firstOf(x.rules, nil)
	}
	g := x.byGrant
	best := c.firstOf(g.any, nil)
	best = c.firstOf(g.roles[c.who.role], best)
	best = c.firstOf(g.users[c.who.user], best)
	for _, circle := range c.who.circles {
		best = c.firstOf(g.circles[circle], best)
	}
	return best
}

// each visits all rules that speak for the caller and hold, in any order, and
// some of them twice.
func (x *section) each(c *call, visit func(*rule)) {
	if x.byGrant == nil {
		c.eachOf(x.rules, visit)
		return
	}
	g := x.byGrant
	c.eachOf(g.any, visit)
	c.eachOf(g.roles[c.who.role], visit)
	c.eachOf(g.users[c.who.user], visit)
	for _, circle := range c.who.circles {
		c.eachOf(g.circles[circle], visit)
	}
}

// matchesAny reports whether some rule's conditions hold, whoever it speaks about.
func (x *section) matchesAny(c *call) bool {
	for _, r := range x.rules {
		if r.holds(c) {
			return true
		}
	}
	return false
}

// inOrder returns all rules of the bucket by ID.
func (b *bucket) inOrder() []*rule {
	all := slices.Concat(b.denies.rules, b.asks.rules, b.allows.rules, b.approvals.rules)
	slices.SortFunc(all, func(x, y *rule) int { return cmp.Compare(x.order, y.order) })
	return all
}
