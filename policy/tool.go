package policy

// Tool names a tool.
type Tool struct {
	// Name is the full key of the tool, as in Request.Tool.
	Name string `json:"name"`
	// Server is the upstream server it belongs to; empty for a tool of Holm's own.
	Server string `json:"server,omitempty"`
	// Definition is that of Request.
	Definition string `json:"-"`
}

// Capabilities returns the names of the tools, in the order given, that a turn
// without a person at the other end may be handed: those whose tool layer says
// exactly allow, whatever the arguments are. A row with a condition that may
// forbid or ask therefore leaves its tool out, and one that allows under a
// condition does not put it in.
func (s *Set) Capabilities(p Principal, tools []Tool) []string {
	var names []string
	if p.AgentID != s.agentID {
		return nil
	}
	for _, t := range tools {
		c := call{who: s.caller(&p), everyArgs: true, definition: t.Definition}
		var r Result
		if s.tool(&r, &c, t.Name, t.Server); r.Decision == Allow {
			names = append(names, t.Name)
		}
	}
	return names
}
