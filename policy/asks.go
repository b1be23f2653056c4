package policy

import (
	"slices"

	"holm/policy/shell"
)

// Asks returns every require_approval row that holds for the call, answered by an
// approval or not, each once: the tool layer first, the most specific key first.
// byDefault reports that nothing else has a say about the tool and that the default
// decision asks. Together they are what a question about the call stands on,
// whatever was approved before.
func (s *Set) Asks(req Request) (asks []*Row, byDefault bool) {
	if req.Principal.AgentID != s.agentID {
		return nil, false
	}
	c := call{who: s.caller(&req.Principal), args: req.Args}
	found := s.find(nil, req.Tool, req.Server)
	asks = appendAsks(asks, found, &c)
	if !claimed(found, &c) {
		var r Result
		s.undisputed(&r, &c, req.Tool, req.Server)
		byDefault = r.Decision == RequireApproval
	}
	for i := range req.Resources {
		clean, err := req.Resources[i].clean()
		if err != nil {
			continue // such a call is denied
		}
		s.pools(&clean, &c, func(p *pool) { asks = appendAsks(asks, p.found.all(), &c) })
	}
	return asks, byDefault
}

// pools visits what is found about each file and each part of a command of a cleaned
// resource, as [Set.resource] decides about them.
func (s *Set) pools(r *Resource, c *call, visit func(*pool)) {
	switch {
	case r.Missing != "":
		return // no row is about it
	case r.Type == TypeFile:
		var p pool
		s.areas.findFile(&p, r, r.Path)
		visit(&p)
		for _, path := range s.areas.below(r) {
			var p pool
			s.areas.findBelow(&p, r, path)
			visit(&p)
		}
		return
	}
	for _, part := range shell.Read(r.Command) {
		for _, cwd := range directories(r.CWD, part.Dirs) {
			s.poolsOfPart(r, part, cwd, c, visit)
		}
	}
}

func (s *Set) poolsOfPart(r *Resource, part shell.Part, cwd string, c *call, visit func(*pool)) {
	s.placeFiles(&part, cwd)
	var p pool
	s.areas.findPart(&p, r, &part, cwd)
	c.named = p.allows.all()
	visit(&p)
	c.named = nil
	for _, f := range part.Files {
		if file := redirected(r, f, cwd); file.Path != "" {
			var p pool
			s.areas.findFile(&p, &file, file.Path)
			visit(&p)
		}
	}
}

func appendAsks(asks []*Row, found []*bucket, c *call) []*Row {
	for _, b := range found {
		b.asks.each(c, func(r *rule) {
			if !slices.Contains(asks, r.row) {
				asks = append(asks, r.row)
			}
		})
	}
	return asks
}

// Strictest returns the settings of one request that stands for all these rows;
// nil means the defaults. They must not be changed.
func Strictest(rows []*Row) (settings *ApprovalSettings) {
	for i, row := range rows {
		if i == 0 {
			settings = row.Scope.Approval
		} else {
			settings = strictest(settings, row.Scope.Approval)
		}
	}
	return settings
}
