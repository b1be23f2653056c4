package policy

// Request is one call to be decided.
type Request struct {
	Principal Principal
	// Tool is the full key of the tool: "exec", "mcp__git__log".
	Tool string
	// Server is the upstream server the tool belongs to, from the catalogue and
	// never from the tool's name; empty for a tool of Holm's own.
	Server string
	Args   Args
}

// Step tells which rule of the evaluation decided.
type Step uint8

// The steps. 1 to 5 are those of the design, "evaluateAccess".
const (
	// StepDefault: no row matches and the tool declares nothing; the default decided.
	StepDefault Step = 1
	// StepDeny: a deny row speaks for the principal.
	StepDeny Step = 2
	// StepApproval: a require_approval row speaks for the principal.
	StepApproval Step = 3
	// StepAllow: an allow row or a declared grant speaks for the principal.
	StepAllow Step = 4
	// StepNoGrant: rows or declared grants exist and none speaks for the principal.
	StepNoGrant Step = 5
	// StepApproved: each require_approval row that speaks for the principal is
	// answered by a row that a persistent approval left.
	StepApproved Step = 6
	// StepForeign: the principal belongs to another agent than the set.
	StepForeign Step = 7
)

var stepNames = [...]string{"unknown", "default", "deny", "approval", "allow", "no_grant", "approved", "foreign"}

// String returns the step's name in explanations and the audit log.
func (s Step) String() string {
	if int(s) >= len(stepNames) {
		return stepNames[0]
	}
	return stepNames[s]
}

// Result is a decision and what decided it.
type Result struct {
	Decision Effect
	Step     Step
	// Rule is the row that decided; nil where a default or the absence of a grant
	// did. It must not be changed. Of several it is the most specific: the tool's own
	// key, then a glob that ends in its only *, longest first, then other globs, then
	// the server's rows in the same order; among equals the smallest ID. Its settings
	// are those the request for approval uses.
	Rule *Row
	// Declared says that the tool's declared default grants decided.
	Declared bool
}
