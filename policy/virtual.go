package policy

import (
	"slices"
	"strings"
)

// The values of the deprecated field autonomy_level. Empty counts as AutonomyFull.
const (
	AutonomyReadonly   = "readonly"
	AutonomySupervised = "supervised"
	AutonomyFull       = "full"
)

// writeTools are the built-in tools that change something beyond the agent's
// administration, which AutonomyReadonly denies. The tools that manage the agent
// stay, so that an owner can end that state with them.
var writeTools = strings.Fields(`exec file_write file_edit file_delete
	memory_add memory_update memory_delete
	schedule_create schedule_update schedule_delete schedule_trigger
	session_send`)

// VirtualRows returns the rows that the deprecated fields autonomy_level and
// require_approval_for stand for; they are compiled with the stored rows and never
// stored. AutonomyReadonly denies the write tools to everybody. AutonomySupervised
// asks before each named tool: those who may call a built-in tool by default, or
// anybody for another tool. AutonomyFull adds nothing. An unknown level and a name
// that cannot be a tool's are refused with an [*InvalidError].
func VirtualRows(agentID, autonomyLevel string, requireApprovalFor []string) ([]Row, error) {
	var rows []Row
	switch autonomyLevel {
	case AutonomyReadonly:
		for _, tool := range writeTools {
			rows = append(rows, virtual(agentID, tool, Deny, []Grant{Any()}))
		}
	case AutonomySupervised:
		names := slices.Sorted(slices.Values(requireApprovalFor))
		for _, tool := range slices.Compact(names) {
			if err := checkName("require_approval_for", tool); err != nil {
				return nil, err
			}
			rows = append(rows, virtual(agentID, tool, RequireApproval, defaultAudience(tool)))
		}
	case AutonomyFull, "":
	default:
		return nil, invalid("autonomy_level", "unknown level %q: want readonly, supervised or full", clip(autonomyLevel))
	}
	return rows, nil
}

func virtual(agentID, tool string, effect Effect, grants []Grant) Row {
	return Row{
		ID: "virtual:" + string(effect) + ":" + tool, AgentID: agentID, ResourceType: TypeTool, ResourceKey: tool,
		Effect: effect, Grants: grants, Origin: OriginSynthesized, Note: "from a deprecated setting of the agent",
	}
}

// defaultAudience is who a virtual row speaks about, so that it opens no built-in
// tool to those who could not call it before.
func defaultAudience(tool string) []Grant {
	if grants, ok := BuiltinGrants(tool); ok {
		return slices.Clone(grants)
	}
	return []Grant{Any()}
}

// withoutReplaced leaves out virtual rows for whose tool a person wrote a row. One
// that an approval left does not count: it adds and replaces nothing.
func withoutReplaced(rows []Row) []Row {
	isVirtual := func(r Row) bool { return r.Origin == OriginSynthesized }
	if !slices.ContainsFunc(rows, isVirtual) {
		return rows
	}
	type resource struct{ kind, key string }
	written := map[resource]bool{}
	for _, r := range rows {
		if !isVirtual(r) && r.Origin != OriginApproval {
			written[resource{r.ResourceType, r.ResourceKey}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return isVirtual(r) && written[resource{r.ResourceType, r.ResourceKey}]
	})
}
