package policy

// commonBuckets is how many keys match a tool without an allocation: its own, its
// server's and some globs.
const commonBuckets = 8

var foreign = Result{Decision: Deny, Step: StepForeign, Layer: LayerTool}

// Evaluate decides one call: the tool layer, then a layer for each resource; the
// strictest wins. It allocates nothing in the common cases: what allocates are
// more than eight matching keys, escapes in the strings of arguments that a
// condition reads, rows bound to an argument digest, spellings of resources that
// are not clean, and several require_approval rows with different settings.
func (s *Set) Evaluate(req Request) Result {
	if req.Principal.AgentID != s.agentID {
		return foreign
	}
	c := call{who: s.caller(&req.Principal), args: req.Args}
	r := s.tool(&c, req.Tool, req.Server)
	for i := range req.Resources {
		if r.Decision == Deny {
			return r
		}
		r = r.and(s.resource(&req.Resources[i], i, &c))
	}
	return r
}

func (s *Set) caller(p *Principal) caller {
	if p.UserID == "" {
		return callerOf(p, s.bareKey)
	}
	return callerOf(p, p.UserID)
}

// tool decides the tool layer.
func (s *Set) tool(c *call, tool, server string) Result {
	var room [commonBuckets]*bucket
	found := s.find(room[:0], tool, server)
	r := decide(found, found, c)
	if r.Step == 0 {
		r = s.undisputed(c, tool, server)
	}
	r.Layer = LayerTool
	return r
}

// find pools the rules about the tool and about its server.
func (s *Set) find(found []*bucket, tool, server string) []*bucket {
	found = s.tools.find(found, tool)
	if server != "" {
		found = s.servers.find(found, server)
	}
	return found
}

// decide takes the steps over the buckets that match; only in allows do allow
// rows count. The zero Result says that no row claims the resource.
func decide(found, allows []*bucket, c *call) Result {
	if r := firstDeny(found, c); r != nil {
		return Result{Decision: Deny, Step: StepDeny, Rule: r.row}
	}
	if r := firstAsk(found, c); r != nil {
		return asked(r, found, c)
	}
	if r := firstAllow(found, allows, c); r != nil {
		return Result{Decision: Allow, Step: StepAllow, Rule: r.row}
	}
	if claimed(found, c) {
		return Result{Decision: Deny, Step: StepNoGrant}
	}
	return Result{}
}

// asked decides where a require_approval row holds. The first that no approval
// answers is named: it is what a further approval has to be for.
func asked(first *rule, found []*bucket, c *call) Result {
	open := firstOpen(found, c)
	if open == nil {
		return Result{Decision: Allow, Step: StepApproved, Rule: answerTo(first, found, c).row}
	}
	r := Result{Decision: RequireApproval, Step: StepApproval, Rule: open.row}
	if !c.anyArgs {
		r.Settings = settingsOf(open, found, c)
	}
	return r
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

// Listed reports whether the principal may see the tool: false when the tool
// layer's decision is deny for any arguments. It errs to one side only: a tool
// that some arguments would open is always listed; one whose conditions contradict
// each other may be.
func (s *Set) Listed(p Principal, tool, server string) bool {
	if p.AgentID != s.agentID {
		return false
	}
	c := call{who: s.caller(&p), anyArgs: true}
	return s.tool(&c, tool, server).Decision != Deny
}
