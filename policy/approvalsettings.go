package policy

import (
	"cmp"
	"slices"
	"time"
)

// Resolution is what an approver may choose.
type Resolution string

// The resolutions that a rule can offer.
const (
	// Single approves one call with exactly these arguments.
	Single Resolution = "single"
	// Once approves for a time.
	Once Resolution = "once"
	// Persistent approves for good.
	Persistent Resolution = "persistent"
)

// Binding is what a Once approval is bound to.
type Binding string

// The bindings.
const (
	// BindArguments binds an approval to the very arguments that were shown.
	BindArguments Binding = "arguments"
	// BindResource lets any arguments pass.
	BindResource Binding = "resource"
)

// Risk is how a card marks a request.
type Risk string

// The risks, and none when a rule does not say.
const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Limits of the approval settings. A year and nine approvers are more than any
// rule needs, and small enough that no sum of them overflows.
const (
	maxMinutes = 366 * 24 * 60
	maxQuorum  = 9
	// maxClaimName is of the name of an argument.
	maxClaimName = 200
)

// ApprovalSettings say how a person is asked. All fields are optional; the zero
// value of each means its default, which a method returns. A nil
// *ApprovalSettings has all defaults.
type ApprovalSettings struct {
	// TTLMinutes is how long a Once approval is good, from the decision. Default 60.
	TTLMinutes int `json:"ttlMinutes,omitempty"`
	// DeadlineMinutes is how long the question stays open. Default 60.
	DeadlineMinutes int `json:"deadlineMinutes,omitempty"`
	// Resolutions are what the approver may choose. Default all three, and where the
	// risk is high Single alone.
	Resolutions []Resolution `json:"resolutions,omitempty"`
	// Binding is what a Once approval is bound to. Default BindArguments.
	Binding Binding `json:"binding,omitempty"`
	// Quorum is how many different people must approve. Default 1, at most 9.
	Quorum int `json:"quorum,omitempty"`
	// Approvers are who may decide. Default the owners.
	Approvers []Grant `json:"approvers,omitempty"`
	// RemindAfterMinutes is when the approvers are reminded. Default never.
	RemindAfterMinutes int `json:"remindAfterMinutes,omitempty"`
	// EscalateAfterMinutes is when EscalateTo are asked as well, and may decide
	// from then on. Default never.
	EscalateAfterMinutes int `json:"escalateAfterMinutes,omitempty"`
	// EscalateTo are who is asked then. Default the owners, where Approvers are others.
	EscalateTo []Grant `json:"escalateTo,omitempty"`
	// RequireReason makes the approver say why. Default false.
	RequireReason bool `json:"requireReason,omitempty"`
	// Risk marks the card. Default none.
	Risk Risk `json:"risk,omitempty"`
	// Claim names the argument in which the agent says why it calls. Default none.
	Claim string `json:"claim,omitempty"`
	// Merged takes the place of Approvers and EscalateTo in settings that stand for
	// several rows: the panel of each. A row has none.
	Merged []Panel `json:"panels,omitempty"`
}

// Panel is who may decide by the word of one rule.
type Panel struct {
	// Approvers are never empty.
	Approvers []Grant `json:"approvers"`
	// EscalateTo may decide as well once the question was escalated.
	EscalateTo []Grant `json:"escalateTo,omitempty"`
}

func (a *ApprovalSettings) orDefault() *ApprovalSettings {
	if a == nil {
		return &ApprovalSettings{}
	}
	return a
}

// TTL returns how long a Once approval is good, from the decision.
func (a *ApprovalSettings) TTL() time.Duration {
	return minutes(cmp.Or(a.orDefault().TTLMinutes, 60))
}

// Deadline returns how long the question stays open.
func (a *ApprovalSettings) Deadline() time.Duration {
	return minutes(cmp.Or(a.orDefault().DeadlineMinutes, 60))
}

// Offers reports whether the approver may choose this resolution.
func (a *ApprovalSettings) Offers(r Resolution) bool {
	return slices.Contains(a.Offered(), r)
}

// Offered returns the resolutions that the approver may choose, in the order
// single, once, persistent.
func (a *ApprovalSettings) Offered() []Resolution {
	all := []Resolution{Single, Once, Persistent}
	chosen := a.orDefault().Resolutions
	switch {
	case len(chosen) == 0 && a.orDefault().Risk == RiskHigh:
		return []Resolution{Single}
	case len(chosen) == 0:
		return all
	}
	return slices.DeleteFunc(all, func(r Resolution) bool { return !slices.Contains(chosen, r) })
}

// BoundTo returns what a Once approval is bound to.
func (a *ApprovalSettings) BoundTo() Binding {
	return cmp.Or(a.orDefault().Binding, BindArguments)
}

// Needed returns how many different people must approve.
func (a *ApprovalSettings) Needed() int {
	return cmp.Or(a.orDefault().Quorum, 1)
}

// Panels returns who may decide: somebody whom every panel names. There is one
// for each rule that asked, equal ones once.
func (a *ApprovalSettings) Panels() []Panel {
	a = a.orDefault()
	if len(a.Merged) > 0 {
		return slices.Clone(a.Merged)
	}
	owners := []Grant{ToRole(Owner)}
	switch {
	case len(a.Approvers) == 0:
		return []Panel{{Approvers: owners, EscalateTo: a.EscalateTo}}
	case a.EscalateAfterMinutes > 0 && len(a.EscalateTo) == 0:
		return []Panel{{Approvers: a.Approvers, EscalateTo: owners}}
	}
	return []Panel{{Approvers: a.Approvers, EscalateTo: a.EscalateTo}}
}

func (p Panel) equal(q Panel) bool {
	return slices.Equal(p.Approvers, q.Approvers) && slices.Equal(p.EscalateTo, q.EscalateTo)
}

// RemindAfter returns when the approvers are reminded; 0 for never.
func (a *ApprovalSettings) RemindAfter() time.Duration {
	return minutes(a.orDefault().RemindAfterMinutes)
}

// EscalateAfter returns when EscalateTo are asked as well; 0 for never.
func (a *ApprovalSettings) EscalateAfter() time.Duration {
	return minutes(a.orDefault().EscalateAfterMinutes)
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }
