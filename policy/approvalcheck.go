package policy

import (
	"fmt"
	"slices"
)

// set reads one member of the JSON form.
func (a *ApprovalSettings) set(m member) error {
	const scope = "scope.approval"
	field := scope + "." + clip(m.name)
	switch m.name {
	case "ttlMinutes":
		return readCount(field, m.value, &a.TTLMinutes)
	case "deadlineMinutes":
		return readCount(field, m.value, &a.DeadlineMinutes)
	case "remindAfterMinutes":
		return readCount(field, m.value, &a.RemindAfterMinutes)
	case "escalateAfterMinutes":
		return readCount(field, m.value, &a.EscalateAfterMinutes)
	case "quorum":
		return readCount(field, m.value, &a.Quorum)
	case "resolutions":
		return readList(field, m.value, func(field, value string) error {
			a.Resolutions = append(a.Resolutions, "")
			return readText(field, value, &a.Resolutions[len(a.Resolutions)-1])
		})
	case "binding":
		return readText(field, m.value, &a.Binding)
	case "approvers":
		return readGrants(field, m.value, &a.Approvers)
	case "escalateTo":
		return readGrants(field, m.value, &a.EscalateTo)
	case "requireReason":
		return readBool(field, m.value, &a.RequireReason)
	case "risk":
		return readText(field, m.value, &a.Risk)
	case "claim":
		return readText(field, m.value, &a.Claim)
	}
	return unknownField(scope, m.name)
}

func (a *ApprovalSettings) check() *InvalidError {
	for _, part := range []func() *InvalidError{a.checkTimes, a.checkChoices, a.checkPeople} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (a *ApprovalSettings) checkTimes() *InvalidError {
	for _, t := range []struct {
		name    string
		minutes int
	}{
		{"ttlMinutes", a.TTLMinutes},
		{"deadlineMinutes", a.DeadlineMinutes},
		{"remindAfterMinutes", a.RemindAfterMinutes},
		{"escalateAfterMinutes", a.EscalateAfterMinutes},
	} {
		if t.minutes < 0 || t.minutes > maxMinutes {
			return invalid("scope.approval."+t.name, "must be from 1 to %d", maxMinutes)
		}
	}
	if a.RemindAfter() >= a.Deadline() {
		return invalid("scope.approval.remindAfterMinutes", "must be below the deadline of %s", a.Deadline())
	}
	if a.EscalateAfter() >= a.Deadline() {
		return invalid("scope.approval.escalateAfterMinutes", "must be below the deadline of %s", a.Deadline())
	}
	return nil
}

func (a *ApprovalSettings) checkChoices() *InvalidError {
	for i, r := range a.Resolutions {
		field := fmt.Sprintf("scope.approval.resolutions[%d]", i)
		if r != Single && r != Once && r != Persistent {
			return invalid(field, "unknown resolution %q: want single, once or persistent", clip(string(r)))
		}
		if slices.Contains(a.Resolutions[:i], r) {
			return invalid(field, "%q is there twice", r)
		}
	}
	if a.Binding != "" && a.Binding != BindArguments && a.Binding != BindResource {
		return invalid("scope.approval.binding", "unknown binding %q: want arguments or resource", clip(string(a.Binding)))
	}
	if len(a.Claim) > maxClaimName {
		return invalid("scope.approval.claim", "at most %d characters", maxClaimName)
	}
	if a.Risk != "" && a.Risk != RiskLow && a.Risk != RiskMedium && a.Risk != RiskHigh {
		return invalid("scope.approval.risk", "unknown risk %q: want low, medium or high", clip(string(a.Risk)))
	}
	return nil
}

func (a *ApprovalSettings) checkPeople() *InvalidError {
	if a.Quorum < 0 || a.Quorum > maxQuorum {
		return invalid("scope.approval.quorum", "must be from 1 to %d", maxQuorum)
	}
	if len(a.EscalateTo) > 0 && a.EscalateAfterMinutes == 0 {
		return invalid("scope.approval.escalateTo", "must be set together with escalateAfterMinutes")
	}
	if a.EscalateAfterMinutes > 0 && len(a.EscalateTo) == 0 && len(a.Approvers) == 0 {
		return invalid("scope.approval.escalateTo", "must say who is asked beyond the owners")
	}
	if len(a.Merged) > 0 {
		return invalid("scope.approval.panels", "belongs to no row")
	}
	if err := checkGrants("scope.approval.approvers", a.Approvers); err != nil {
		return err
	}
	return checkGrants("scope.approval.escalateTo", a.EscalateTo)
}
