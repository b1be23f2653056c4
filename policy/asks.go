package policy

import "slices"

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
		var p pool
		s.areas.find(&p, &clean)
		asks = appendAsks(asks, p.found.all(), &c)
	}
	return asks, byDefault
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
