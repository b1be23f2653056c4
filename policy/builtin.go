package policy

import (
	"maps"
	"slices"
	"strings"
)

// builtinGrants is the table "Default grants of built-in tools" of policy.md.
var builtinGrants = declare(map[string][]Grant{
	`exec file_write file_edit file_delete
	schedule_create schedule_update schedule_delete schedule_trigger
	policy_list policy_set policy_delete
	user_list user_role_set user_merge user_identity_link user_identity_unlink
	mcp_enable mcp_disable mcp_status
	instruction_update approval_list approval_review memory_set_grants`: {ToRole(Owner)},

	`file_read file_list file_stat
	memory_add memory_update memory_delete
	session_list session_read session_summary session_send`: {ToRole(Owner), ToRole(User)},

	`memory_get memory_list memory_recall
	schedule_list schedule_runs
	identity_link_request identity_link_confirm
	web_search web_fetch
	approval_status approval_wait approval_cancel`: {Any()},

	// For the system alone.
	`working_memory_update session_description_update`: {},
})

func declare(table map[string][]Grant) map[string][]Grant {
	byTool := map[string][]Grant{}
	for tools, grants := range table {
		for tool := range strings.FieldsSeq(tools) {
			byTool[tool] = grants
		}
	}
	return byTool
}

// builtinNames are the tools of the table, in order.
var builtinNames = slices.Sorted(maps.Keys(builtinGrants))

// circleTools is the common beginning of the tools that manage circles: owners only.
const circleTools = "circle_"

var ownersOnly = []Grant{ToRole(Owner)}

// BuiltinTools returns the tools that declare default grants for themselves, in
// order; whether Holm serves them or an agent asks about its own by their names.
func BuiltinTools() []Tool {
	tools := make([]Tool, len(builtinNames))
	for i, name := range builtinNames {
		tools[i].Name = name
	}
	return tools
}

// Reaches returns the type of the resources that a built-in tool reaches, and of
// files the mode; false for a tool that reaches neither files nor commands.
func Reaches(tool string) (resourceType, mode string, ok bool) {
	switch tool {
	case "exec":
		return TypeExec, "", true
	case "file_read", "file_list", "file_stat":
		return TypeFile, ModeRead, true
	case "file_write", "file_edit", "file_delete":
		return TypeFile, ModeWrite, true
	}
	return "", "", false
}

// BuiltinGrants returns the grants that a built-in tool declares, and false for
// any other name; an empty list speaks for nobody. It fits Options.DefaultGrants.
// The list must not be changed.
func BuiltinGrants(tool string) ([]Grant, bool) {
	if strings.HasPrefix(tool, circleTools) {
		return ownersOnly, true
	}
	grants, ok := builtinGrants[tool]
	return slices.Clip(grants), ok
}
