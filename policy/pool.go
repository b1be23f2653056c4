package policy

// call is a request on its way through the rules.
type call struct {
	who  caller
	args Args
	// definition is the tool's; see Request.Definition.
	definition string
	// anyArgs takes the call as one with the arguments that open most, everyArgs as
	// one with those that open least; args are then not read.
	anyArgs   bool
	everyArgs bool
	// guarded is for the lock-out guard, with anyArgs: conditions that any value meets
	// hold. general wants more than some call: no row with conditions lets it pass, and
	// one that speaks for others claims the tool.
	guarded bool
	general bool
	digest  string // of args, when first needed
	recent  recent
	// named are the buckets whose allow rows count, while a command is decided.
	named []*bucket
}

func (c *call) argsDigest() string {
	if c.digest == "" {
		c.digest = ArgsDigest(c.args)
	}
	return c.digest
}

// firstOf returns the first of the rules that speaks for the caller and holds, unless
// best comes before it.
func (c *call) firstOf(briefs []brief, best *rule) *rule {
	for i := range briefs {
		b := &briefs[i]
		if best != nil && best.order < b.order {
			return best
		}
		if b.speaksFor(&c.who) && b.holds(c) {
			return b.rule
		}
	}
	return best
}

func (c *call) eachOf(briefs []brief, visit func(*rule)) {
	for i := range briefs {
		if b := &briefs[i]; b.speaksFor(&c.who) && b.holds(c) {
			visit(b.rule)
		}
	}
}

func firstDeny(found []*bucket, c *call) *rule {
	for _, b := range found {
		if r := b.denies.first(c); r != nil {
			return r
		}
	}
	return nil
}

func firstAsk(found []*bucket, c *call) *rule {
	for _, b := range found {
		if r := b.asks.first(c); r != nil {
			return r
		}
	}
	return nil
}

// firstAllow prefers the rows of people, of which those in allows count, to those
// that approvals left.
func firstAllow(found, allows []*bucket, c *call) *rule {
	for _, b := range allows {
		if r := b.allows.first(c); r != nil {
			return r
		}
	}
	for _, b := range found {
		if r := b.approvals.first(c); r != nil {
			return r
		}
	}
	return nil
}

// claimed reports whether a row matches the call, whoever it speaks about.
func claimed(found []*bucket, c *call) bool {
	for _, b := range found {
		if b.claimed || !c.anyArgs && (b.denies.matchesAny(c) || b.asks.matchesAny(c)) ||
			c.general && (b.denies.isForOthers(c) || b.asks.isForOthers(c)) {
			return true
		}
	}
	return false
}

// firstOpen returns the first require_approval row that holds and that no row of
// an approval answers.
func firstOpen(asking, found []*bucket, c *call) *rule {
	for _, b := range asking {
		var open *rule
		b.asks.each(c, func(r *rule) {
			if (open == nil || r.order < open.order) && answerTo(r, found, c) == nil {
				open = r
			}
		})
		if open != nil {
			return open
		}
	}
	return nil
}

// settingsOf returns the strictest settings of all require_approval rows that
// hold; who may decide is the named row's to say.
func settingsOf(named *rule, found []*bucket, c *call) *ApprovalSettings {
	settings := named.row.Scope.Approval
	for _, b := range found {
		b.asks.each(c, func(r *rule) {
			settings = strictest(settings, r.row.Scope.Approval)
		})
	}
	return settings
}

// answerTo returns the row of an approval that answers ask; nil if none does.
func answerTo(ask *rule, found []*bucket, c *call) *rule {
	for _, b := range found {
		var best *rule
		b.approvals.each(c, func(r *rule) {
			approves := r.row.Scope.Approves
			if (approves == "" || approves == ask.row.ID) && (best == nil || r.order < best.order) {
				best = r
			}
		})
		if best != nil {
			return best
		}
	}
	return nil
}
