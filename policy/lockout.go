package policy

import "slices"

// Loss is a tool that a principal could use before a change and cannot after it.
type Loss struct {
	Tool Tool `json:"tool"`
	// Sandbox is set where the tool is lost in this sandbox alone, to file or exec rows.
	Sandbox string `json:"sandbox,omitempty"`
	// Principal is who loses it; the zero Principal where everyone does.
	Principal Principal `json:"principal"`
	// Everyone says that nobody can use the tool after the change.
	Everyone bool `json:"everyone"`
}

// LockOut returns what a change of the rows must not take without force: a tool
// that Holm declares for owners, from an owner; and any tool, from all who could use
// it. principals are all that can call: the members, and the bare key.
//
// To use a tool is to get another decision than deny for some arguments, and for
// some file or command where the tool reaches these: one which now needs approval is
// not lost, nor one that a row with conditions denies to whom it speaks for. An owner
// also loses a tool that others' conditions, or conditions on what is allowed, take
// from calls that were free. Each loss is told once, in the order of tools, sandboxes
// and principals.
func LockOut(before, after *Set, tools []Tool, principals []Principal) []Loss {
	var losses []Loss
	for _, t := range tools {
		c := change{before, after, t, principals}
		resourceType, _, ok := Reaches(t.Name)
		if !ok || t.Server != "" {
			losses = append(losses, c.losses("")...)
			continue
		}
		losses = append(losses, c.inSandboxes(resourceType)...)
	}
	return losses
}

// change is one change as it is for one tool.
type change struct {
	before, after *Set
	tool          Tool
	principals    []Principal
}

func (c *change) losses(sandbox string) (losses []Loss) {
	usable := func(s *Set, general bool) func(Principal) bool {
		return func(p Principal) bool { return s.usable(p, c.tool, sandbox, general) }
	}
	if !slices.ContainsFunc(c.principals, usable(c.after, false)) {
		if slices.ContainsFunc(c.principals, usable(c.before, false)) {
			losses = append(losses, Loss{Tool: c.tool, Sandbox: sandbox, Everyone: true})
		}
		return losses
	}
	if c.tool.Server != "" || !c.before.isForOwners(c.tool.Name) {
		return nil
	}
	for _, p := range c.principals {
		lost := func(general bool) bool { return usable(c.before, general)(p) && !usable(c.after, general)(p) }
		if p.Role == Owner && (lost(false) || lost(true)) {
			losses = append(losses, Loss{Tool: c.tool, Sandbox: sandbox, Principal: p})
		}
	}
	return losses
}

// inSandboxes tells a loss in all sandboxes as one.
func (c *change) inSandboxes(resourceType string) (losses []Loss) {
	var shared []Loss
	same := true
	for i, sandbox := range sandboxes(resourceType, c.before, c.after) {
		here := c.losses(sandbox)
		everywhere := slices.Clone(here)
		for j := range everywhere {
			everywhere[j].Sandbox = ""
		}
		same = same && (i == 0 || slices.EqualFunc(shared, everywhere, Loss.is))
		shared, losses = everywhere, append(losses, here...)
	}
	if same {
		return shared
	}
	return losses
}

func (l Loss) is(other Loss) bool {
	return l.Tool == other.Tool && l.Everyone == other.Everyone && l.Principal.UserID == other.Principal.UserID
}

// sandboxes are those that rows name, and the default one.
func sandboxes(resourceType string, sets ...*Set) []string {
	names := []string{DefaultSandbox}
	for _, s := range sets {
		for _, r := range s.areas.rules {
			if r.row.ResourceType == resourceType && r.area.sandbox != "*" {
				names = append(names, r.area.sandbox)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *Set) isForOwners(tool string) bool {
	if s.declared == nil {
		return false
	}
	grants, ok := s.declared(tool)
	return ok && slices.Contains(grants, ToRole(Owner))
}

// usable reports whether the principal can use the tool for some arguments, or, in
// general, for such as no condition is about.
func (s *Set) usable(p Principal, t Tool, sandbox string, general bool) bool {
	if p.AgentID != s.agentID {
		return false
	}
	c := call{who: s.caller(&p), anyArgs: true, guarded: true, general: general}
	var r Result
	s.tool(&r, &c, t.Name, t.Server)
	return r.Decision != Deny && (sandbox == "" || s.mayReach(&c.who, t.Name, sandbox))
}

// mayReach reports whether file or exec rows leave the caller anything that the
// tool reaches.
func (s *Set) mayReach(who *caller, tool, sandbox string) bool {
	resourceType, mode, _ := Reaches(tool)
	closed, open := false, false
	for _, r := range s.areas.rules {
		if r.row.ResourceType != resourceType || !spansName(r.area.sandbox, sandbox) || !spansName(r.area.mode, mode) {
			continue
		}
		speaks := r.speaksFor(who)
		if speaks && r.effect == Deny && r.area.isAll() {
			return false
		}
		closed = closed || r.closes()
		open = open || speaks && r.effect == Allow
	}
	return open || !closed
}

// isAll reports whether the area is all of its sandbox and mode.
func (a *area) isAll() bool {
	return a.path == "/" || a.path == "" && a.command.kind == anyCommand && a.cwd == ""
}
