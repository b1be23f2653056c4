package policy

import "encoding/json"

// ToolInfo is a tool with its arguments' schema.
type ToolInfo struct {
	Tool
	// InputSchema is the tool's JSON Schema; without one, and where it leaves names
	// open, any argument is taken as known.
	InputSchema json.RawMessage
}

// World is what rows speak of, as it is now.
type World struct {
	// Tools are those that the agent can reach, with their schemas; Holm's own are
	// known without.
	Tools []ToolInfo
	// Servers are the names of all servers; of one that is down no tools may be known.
	Servers []string
	// People are all that can call: the members, and the bare key. Nil: not known.
	People []Principal
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
	// FindingUnchecked: the arguments of the tools that the row is about are not known.
	FindingUnchecked Code = "unchecked"
	// FindingToolsOpen: the row allows tools without limits that do not have the
	// argument of a condition.
	FindingToolsOpen Code = "tools_open"
	// FindingOpenBeside: another row allows without conditions what this one allows
	// under some.
	FindingOpenBeside Code = "open_beside"
	// FindingUnknownUser: a user whom the row names is none of the agent's people.
	FindingUnknownUser Code = "unknown_user"
	// FindingEmptyCircle: nobody is in a circle that the row names.
	FindingEmptyCircle Code = "empty_circle"
	// FindingUnreachable: the row wants more approvals than people can give.
	FindingUnreachable Code = "unreachable_quorum"
	// FindingAnyProgram: the row allows a program that runs any other.
	FindingAnyProgram Code = "any_program"
	// FindingException: the row is an exception from another that allows all commands.
	FindingException Code = "exception"
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
