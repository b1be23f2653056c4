package policy

// commonBuckets is how many keys match a tool without an allocation: its own, its
// server's and some globs.
const commonBuckets = 8

var foreign = Result{Decision: Deny, Step: StepForeign, Layer: LayerTool}

// Evaluate decides one call: the tool layer, then a layer for each resource; the
// strictest wins. It allocates nothing in the common cases: what allocates are
// commands, which have to be read, more than eight matching keys, escapes in the strings of arguments that a
// condition reads, rows bound to an argument digest, spellings of resources that
// are not clean, and several require_approval rows with different settings.
func (s *Set) Evaluate(req Request) (r Result) {
	if req.Principal.AgentID != s.agentID {
		return foreign
	}
	c := call{who: s.caller(&req.Principal), args: req.Args, definition: req.Definition}
	s.tool(&r, &c, req.Tool, req.Server)
	if len(req.Resources) > 0 {
		s.resources(&r, &c, req.Resources)
	}
	return r
}

func (s *Set) caller(p *Principal) caller {
	requester := p.UserID
	if requester == "" {
		requester = s.bareKey
	}
	who := callerOf(p, requester)
	who.number = s.users[requester]
	return who
}

// tool decides the tool layer.
func (s *Set) tool(r *Result, c *call, tool, server string) {
	var room [commonBuckets]*bucket
	found := s.find(room[:0], tool, server)
	r.Layer = LayerTool
	switch decide(r, found, found, c); {
	case r.Step != 0:
	case claimed(found, c):
		r.Decision, r.Step = Deny, StepNoGrant
	default:
		s.undisputed(r, c, tool, server)
	}
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
// rows count. It leaves the step 0 when no row that holds speaks for the caller.
func decide(r *Result, found, allows []*bucket, c *call) {
	if deny := firstDeny(found, c); deny != nil {
		r.Decision, r.Step, r.Rule = Deny, StepDeny, deny.row
		return
	}
	if ask := firstAsk(found, c); ask != nil {
		asked(r, ask, found, c)
		return
	}
	if allow := firstAllow(found, allows, c); allow != nil {
		r.Decision, r.Step, r.Rule = Allow, StepAllow, allow.row
	}
}

// asked decides where a require_approval row holds. The first that no approval
// answers is named: it is what a further approval has to be for.
func asked(r *Result, first *rule, found []*bucket, c *call) {
	open := firstOpen(found, found, c)
	if open == nil {
		r.Decision, r.Step, r.Rule = Allow, StepApproved, answerTo(first, found, c).row
		return
	}
	r.Decision, r.Step, r.Rule = RequireApproval, StepApproval, open.row
	if !c.anyArgs {
		r.Settings = settingsOf(open, found, c)
	}
}

// undisputed decides about a tool that no row claims.
func (s *Set) undisputed(r *Result, c *call, tool, server string) {
	r.Decision, r.Step = s.fallback, StepDefault
	if server != "" || s.declared == nil {
		return
	}
	grants, ok := s.declared(tool)
	switch {
	case !ok:
	case holdsFor(grants, &c.who):
		r.Decision, r.Step, r.Declared = Allow, StepAllow, true
	default:
		r.Decision, r.Step, r.Declared = Deny, StepNoGrant, true
	}
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
	var r Result
	s.tool(&r, &c, tool, server)
	return r.Decision != Deny
}
