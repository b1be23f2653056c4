package policy

import "slices"

// Request is one call to be decided.
type Request struct {
	Principal Principal
	// Tool is the full key of the tool: "exec", "mcp__git__log".
	Tool string
	// Server is the upstream server the tool belongs to, from the catalogue and
	// never from the tool's name; empty for a tool of Holm's own.
	Server string
	// Definition names how the tool is made and served now; empty for a tool of
	// Holm's own. What an approval left for another definition answers nothing.
	Definition string
	Args       Args
	// Resources are the files and commands that the call reaches.
	Resources []Resource
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
	// StepNoGrant: rows or declared grants exist and none lets the principal in.
	StepNoGrant Step = 5
	// StepApproved: each require_approval row that speaks for the principal is
	// answered by a row that a persistent approval left.
	StepApproved Step = 6
	// StepForeign: the principal belongs to another agent than the set.
	StepForeign Step = 7
	// StepInvalid: the call reaches a resource that cannot be judged; see
	// [Resource.Clean].
	StepInvalid Step = 8
)

var stepNames = [...]string{"unknown", "default", "deny", "approval", "allow", "no_grant", "approved", "foreign", "invalid"}

// String returns the step's name in explanations and the audit log.
func (s Step) String() string {
	if int(s) >= len(stepNames) {
		return stepNames[0]
	}
	return stepNames[s]
}

// MarshalText returns the step's name.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a step's name.
func (s *Step) UnmarshalText(text []byte) error {
	i := slices.Index(stepNames[:], string(text))
	if i < 0 {
		return invalid("step", "unknown step %q", clip(string(text)))
	}
	*s = Step(i)
	return nil
}

// Result is a decision and what decided it.
type Result struct {
	Decision Effect `json:"decision"`
	Step     Step   `json:"step"`
	// Declared says that the tool's declared default grants decided.
	Declared bool `json:"declared,omitempty"`
	// Layer is the layer that decided.
	Layer Layer `json:"layer"`
	// Resource is the place in Request.Resources of the resource that decided, for
	// the layers file and exec.
	Resource int `json:"-"`
	// Part is the simple command that decided, as it is written, where the command of
	// the resource is made of several.
	Part string `json:"part,omitempty"`
	// Unjudged says why that command cannot be judged before it runs, where this
	// decided: rows against any command that fits then count, and Rule may be one of
	// them.
	Unjudged string `json:"-"`
	// Rule is the row that decided; nil where a default or the absence of a grant
	// did. It must not be changed. Of several it is the most specific: the tool's own
	// key, then a glob that ends in its only *, longest first, then other globs, then
	// the server's rows in the same order; the longest path; the exact command, then
	// globs, then *; among equals the smallest ID. Of require_approval rows it is the
	// first that no approval answers.
	Rule *Row `json:"-"`
	// Settings are what a request for approval uses: the strictest of all
	// require_approval rows that hold, in all layers. nil means the defaults; the
	// methods of [ApprovalSettings] take it. They must not be changed.
	Settings *ApprovalSettings `json:"-"`
}
