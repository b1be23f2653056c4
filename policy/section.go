package policy

// section holds rules of one effect in stable order.
type section struct {
	briefs  []brief
	byGrant *grantIndex // nil while reading all briefs is cheaper

	// Who its rules speak about, so that most sections are passed by unread.
	any, users, circles bool
	roles               uint8
}

// brief is a rule and what tells most of them apart without reading the rule
// itself, which mostly has to come from far in memory.
type brief struct {
	rule  *rule
	only  *condition // all that the rule depends on, if that is one condition
	order int32
	user  int32 // the number of one user the rule speaks about; 0 if it is about none
	roles uint8
	any   bool
	more  bool // the rule speaks about further users, or about circles
	bare  bool // the rule holds whatever the arguments are
	allow bool
}

func briefOf(r *rule) brief {
	b := brief{rule: r, order: r.order, roles: r.roles, any: r.any, allow: r.effect == Allow}
	if len(r.users) > 0 {
		b.user = r.users[0]
	}
	b.more = len(r.users) > 1 || len(r.circles) > 0
	b.bare = len(r.conditions) == 0 && !r.answers && !r.rest
	if len(r.conditions) == 1 && !r.answers {
		b.only = &r.conditions[0]
	}
	return b
}

func (b *brief) speaksFor(c *caller) bool {
	return b.any || b.roles&c.role != 0 || b.user != 0 && b.user == c.number || b.more && b.rule.speaksFor(c)
}

// holds is what the rule's method says, mostly without reading the rule.
func (b *brief) holds(c *call) bool {
	switch {
	case b.bare:
		return true
	case b.only == nil || c.anyArgs || c.everyArgs:
		return b.rule.holds(c)
	case b.allow:
		return b.only.holdsForAllow(c)
	}
	return b.only.holdsAgainst(c)
}

func (x *section) add(r *rule) {
	x.briefs = append(x.briefs, briefOf(r))
	x.any = x.any || r.any
	x.roles |= r.roles
	x.users = x.users || len(r.users) > 0
	x.circles = x.circles || len(r.circles) > 0
}

// mayConcern is false only if no rule of the section speaks for the caller.
func (x *section) mayConcern(who *caller) bool {
	return x.any || x.users && who.number != 0 || x.roles&who.role != 0 || x.circles && len(who.circles) > 0
}

// smallSection is the length up to which reading all briefs costs about as much
// as the look-ups in a grantIndex.
const smallSection = 8

func (x *section) finish() {
	if len(x.briefs) > smallSection {
		x.byGrant = newGrantIndex(x.briefs)
	}
}

// first returns the first rule in order that speaks for the caller and holds.
func (x *section) first(c *call) *rule {
	if !x.mayConcern(&c.who) {
		return nil
	}
	if x.byGrant == nil {
		return c.firstOf(x.briefs, nil)
	}
	g := x.byGrant
	best := c.firstOf(g.any, nil)
	best = c.firstOf(g.roles[c.who.role], best)
	best = c.firstOf(g.forUser(c.who.number), best)
	for _, circle := range c.who.circles {
		best = c.firstOf(g.circles[circle], best)
	}
	return best
}

// each visits all rules that speak for the caller and hold, in any order, and
// some of them twice.
func (x *section) each(c *call, visit func(*rule)) {
	if x.byGrant == nil {
		c.eachOf(x.briefs, visit)
		return
	}
	g := x.byGrant
	c.eachOf(g.any, visit)
	c.eachOf(g.roles[c.who.role], visit)
	c.eachOf(g.forUser(c.who.number), visit)
	for _, circle := range c.who.circles {
		c.eachOf(g.circles[circle], visit)
	}
}

// isForOthers reports whether some rule does not speak for the caller.
func (x *section) isForOthers(c *call) bool {
	for i := range x.briefs {
		if !x.briefs[i].speaksFor(&c.who) {
			return true
		}
	}
	return false
}

// matchesAny reports whether some rule's conditions hold, whoever it speaks about.
func (x *section) matchesAny(c *call) bool {
	for i := range x.briefs {
		if x.briefs[i].holds(c) {
			return true
		}
	}
	return false
}
