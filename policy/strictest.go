package policy

import (
	"cmp"
	"slices"
	"time"
)

// strictest returns the settings of one request that stands for two rows: the
// shorter times, what both offer (a single approval if that is nothing), the
// closer binding, the larger quorum, a reason if either wants one, the higher
// risk. Who may decide and who is asked later is what a says.
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
	s.Risk = slices.MaxFunc([]Risk{a.Risk, b.Risk}, func(x, y Risk) int { return cmp.Compare(x.rank(), y.rank()) })
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
		s.EscalateAfterMinutes, s.EscalateTo = 0, nil
	}
}
