package policy

// Request is one call to be decided.
type Request struct {
	Principal Principal
	// Tool is the full key of the tool: "exec", "mcp__git__log".
	Tool string
	// Server is the upstream server the tool belongs to, from the catalogue and
	// never from the tool's name; empty for a tool of Holm's own.
	Server string
	Args   Args
}

// Step tells which rule of the evaluation decided.
type Step uint8

// The steps. 1 to 5 are those of the design, "evaluateAccess".
const (
	// StepDefault: no row matches and the tool declares nothing; the default decided.
	StepDefault Step = 1
	// StepDeny: a deny row speaks for the principal.
	StepDeny Step = 2
	// StepApproval: a require_approval row speaks for the principal.
	StepApproval Step = 3
	// StepAllow: an allow row or a declared grant speaks for the principal.
	StepAllow Step = 4
	// StepNoGrant: rows or declared grants exist and none speaks for the principal.
	StepNoGrant Step = 5
	// StepApproved: each require_approval row that speaks for the principal is
	// answered by a row that a persistent approval left.
	StepApproved Step = 6
	// StepForeign: the principal belongs to another agent than the set.
	StepForeign Step = 7
)

var stepNames = [...]string{"unknown", "default", "deny", "approval", "allow", "no_grant", "approved", "foreign"}

// String returns the step's name in explanations and the audit log.
func (s Step) String() string {
	if int(s) >= len(stepNames) {
		return stepNames[0]
	}
	return stepNames[s]
}

// Result is a decision and what decided it.
type Result struct {
	Decision Effect
	Step     Step
	// Rule is the row that decided; nil where a default or the absence of a grant
	// did. It must not be changed. Of several it is the most specific: the tool's own
	// key, then a glob that ends in its only *, longest first, then other globs, then
	// the server's rows in the same order; among equals the smallest ID. Its settings
	// are those the request for approval uses.
	Rule *Row
	// Declared says that the tool's declared default grants decided.
	Declared bool
}

// call is a request on its way through the rules.
type call struct {
	who     caller
	args    Args
	anyArgs bool   // hold what holds for some arguments, and denies that hold for all
	digest  string // of args, when first needed
}

func (c *call) argsDigest() string {
	if c.digest == "" {
		c.digest = ArgsDigest(c.args)
	}
	return c.digest
}

// firstOf returns the first of rules that speaks for the caller and holds, unless
// best comes before it.
func (c *call) firstOf(rules []*rule, best *rule) *rule {
	for _, r := range rules {
		if best != nil && best.order < r.order {
			return best
		}
		if r.speaksFor(&c.who) && r.holds(c) {
			return r
		}
	}
	return best
}

func (c *call) everyOf(rules []*rule, ok func(*rule) bool) bool {
	for _, r := range rules {
		if r.speaksFor(&c.who) && r.holds(c) && !ok(r) {
			return false
		}
	}
	return true
}

// commonBuckets is how many keys match a tool without an allocation: its own, its
// server's and some globs.
const commonBuckets = 8

// Evaluate decides one call. It allocates nothing in the common cases: what
// allocates are more than eight matching keys, escapes in the strings of
// arguments that a condition reads, and rows bound to an argument digest.
func (s *Set) Evaluate(req Request) Result {
	if req.Principal.AgentID != s.agentID {
		return Result{Decision: Deny, Step: StepForeign}
	}
	var room [commonBuckets]*bucket
	found := s.find(room[:0], req.Tool, req.Server)
	c := call{who: s.caller(&req.Principal), args: req.Args}
	return s.decide(found, &c, req.Tool, req.Server)
}

func (s *Set) caller(p *Principal) caller {
	if p.UserID == "" {
		return callerOf(p, s.bareKey)
	}
	return callerOf(p, p.UserID)
}

// find pools the rules about the tool and about its server.
func (s *Set) find(found []*bucket, tool, server string) []*bucket {
	found = s.tools.find(found, tool)
	if server != "" {
		found = s.servers.find(found, server)
	}
	return found
}

func (s *Set) decide(found []*bucket, c *call, tool, server string) Result {
	if r := firstDeny(found, c); r != nil {
		return Result{Decision: Deny, Step: StepDeny, Rule: r.row}
	}
	if r := firstAsk(found, c); r != nil {
		if approval := answer(r, found, c); approval != nil {
			return Result{Decision: Allow, Step: StepApproved, Rule: approval.row}
		}
		return Result{Decision: RequireApproval, Step: StepApproval, Rule: r.row}
	}
	if r := firstAllow(found, c); r != nil {
		return Result{Decision: Allow, Step: StepAllow, Rule: r.row}
	}
	if claimed(found, c) {
		return Result{Decision: Deny, Step: StepNoGrant}
	}
	return s.undisputed(c, tool, server)
}

// undisputed decides about a tool that no row claims.
func (s *Set) undisputed(c *call, tool, server string) Result {
	if server != "" || s.declared == nil {
		return Result{Decision: s.fallback, Step: StepDefault}
	}
	grants, ok := s.declared(tool)
	switch {
	case !ok:
		return Result{Decision: s.fallback, Step: StepDefault}
	case holdsFor(grants, &c.who):
		return Result{Decision: Allow, Step: StepAllow, Declared: true}
	}
	return Result{Decision: Deny, Step: StepNoGrant, Declared: true}
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

// firstAllow prefers the rows of people to those that approvals left.
func firstAllow(found []*bucket, c *call) *rule {
	for _, b := range found {
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
		if b.claimed || !c.anyArgs && (b.denies.matchesAny(c) || b.asks.matchesAny(c)) {
			return true
		}
	}
	return false
}

// answer returns the row of an approval that answers ask, the first
// require_approval row, if every such row that holds is answered; else nil.
func answer(ask *rule, found []*bucket, c *call) *rule {
	for _, b := range found {
		if !b.asks.every(c, func(r *rule) bool { return answerTo(r, found, c) != nil }) {
			return nil
		}
	}
	return answerTo(ask, found, c)
}

func answerTo(ask *rule, found []*bucket, c *call) *rule {
	for _, b := range found {
		var best *rule
		b.approvals.every(c, func(r *rule) bool {
			approves := r.row.Scope.Approves
			if (approves == "" || approves == ask.row.ID) && (best == nil || r.order < best.order) {
				best = r
			}
			return true
		})
		if best != nil {
			return best
		}
	}
	return nil
}

// Listed reports whether the principal may see the tool: false when the decision
// is deny for any arguments. It errs to one side only: a tool that some arguments
// would open is always listed; one whose conditions contradict each other may be.
func (s *Set) Listed(p Principal, tool, server string) bool {
	if p.AgentID != s.agentID {
		return false
	}
	var room [commonBuckets]*bucket
	found := s.find(room[:0], tool, server)
	c := call{who: s.caller(&p), anyArgs: true}
	return s.decide(found, &c, tool, server).Decision != Deny
}
