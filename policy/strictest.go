package policy

import (
	"cmp"
	"slices"
	"time"
)

// strictest returns the settings of one request that stands for two rows: the
// shorter times, what both offer (a single approval if that is nothing), the
// closer binding, the larger quorum, a reason if either wants one, the higher
// risk. Who decides must be named by both; their escalations widen that at the
// later of the times.
func strictest(a, b *ApprovalSettings) *ApprovalSettings {
	if a == b {
		return a
	}
	a, b = a.orDefault(), b.orDefault()
	s := *a
	s.TTLMinutes = inMinutes(min(a.TTL(), b.TTL()))
	s.DeadlineMinutes = inMinutes(min(a.Deadline(), b.Deadline()))
	s.Resolutions = bothOffer(a, b)
	if b.BoundTo() == BindArguments {
		s.Binding = BindArguments
	}
	s.Quorum = max(a.Needed(), b.Needed())
	s.RequireReason = a.RequireReason || b.RequireReason
	s.Claim = cmp.Or(min(a.Claim, b.Claim), max(a.Claim, b.Claim))
	s.Risk = slices.MaxFunc([]Risk{a.Risk, b.Risk}, func(x, y Risk) int { return cmp.Compare(x.rank(), y.rank()) })
	s.EscalateAfterMinutes = max(a.EscalateAfterMinutes, b.EscalateAfterMinutes)
	s.mergePanels(slices.Concat(a.Panels(), b.Panels()))
	s.fitDeadline(b)
	return &s
}

func inMinutes(d time.Duration) int { return int(d / time.Minute) }

func bothOffer(a, b *ApprovalSettings) []Resolution {
	both := slices.DeleteFunc(a.Offered(), func(r Resolution) bool { return !b.Offers(r) })
	if len(both) == 0 {
		return []Resolution{Single}
	}
	return both
}

// rank orders the risks; no risk is the lowest.
func (r Risk) rank() int { return slices.Index([]Risk{RiskLow, RiskMedium, RiskHigh}, r) }

// fitDeadline takes the sooner reminder, and drops what would come only after the
// question is closed.
func (s *ApprovalSettings) fitDeadline(other *ApprovalSettings) {
	if at := other.RemindAfterMinutes; at > 0 && (at < s.RemindAfterMinutes || s.RemindAfterMinutes == 0) {
		s.RemindAfterMinutes = at
	}
	if s.RemindAfterMinutes >= s.DeadlineMinutes {
		s.RemindAfterMinutes = 0
	}
	if s.EscalateAfterMinutes >= s.DeadlineMinutes {
		s.EscalateAfterMinutes = 0
		for i := range s.Merged {
			s.Merged[i].EscalateTo = nil
		}
	}
}

// mergePanels keeps each panel once; the owners alone are the default.
func (s *ApprovalSettings) mergePanels(all []Panel) {
	s.Approvers, s.EscalateTo, s.Merged = nil, nil, nil
	for _, p := range all {
		if !slices.ContainsFunc(s.Merged, p.equal) {
			s.Merged = append(s.Merged, p)
		}
	}
	if len(s.Merged) == 1 && s.Merged[0].equal(ownersAlone) {
		s.Merged = nil
	}
}

var ownersAlone = Panel{Approvers: []Grant{ToRole(Owner)}}
