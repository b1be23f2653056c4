package policy

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
