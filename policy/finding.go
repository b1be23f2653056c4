package policy

import "encoding/json"

// ToolInfo is a tool with its arguments' schema.
type ToolInfo struct {
	Tool
	// InputSchema is the tool's JSON Schema; without one, and where it leaves names
	// open, any argument is taken as known.
	InputSchema json.RawMessage
}

// Code is what is wrong with a row.
type Code string

// The codes of findings.
const (
	// FindingUnusable: the row cannot be used and counts as a deny.
	FindingUnusable Code = "unusable"
	// FindingNeverMatches: no call can match the row.
	FindingNeverMatches Code = "never_matches"
	// FindingUnknownTool: no tool has the name.
	FindingUnknownTool Code = "unknown_tool"
	// FindingUnknownServer: no server has the name.
	FindingUnknownServer Code = "unknown_server"
	// FindingUnknownArgument: no tool that the row is about has the argument.
	FindingUnknownArgument Code = "unknown_argument"
	// FindingPathOpen: the row limits some arguments, and not one that is a path.
	FindingPathOpen Code = "path_unconstrained"
	// FindingHidden: a narrower allow row takes the row's place for people it speaks for.
	FindingHidden Code = "hidden"
	// FindingOverruled: a deny row holds wherever the row does.
	FindingOverruled Code = "overruled"
	// FindingAnyTool: the row allows tools by a pattern that its writer cannot know.
	FindingAnyTool Code = "any_tool"
	// FindingNobody: the row speaks for nobody.
	FindingNobody Code = "grants_nobody"
)

// Finding is one thing about a row that its writer cannot have meant, or should
// look at. Nothing depends on it.
type Finding struct {
	RowID string `json:"rowId"`
	Code  Code   `json:"code"`
	// Message says it in words; it names rows, tools and arguments.
	Message string `json:"message"`
}
