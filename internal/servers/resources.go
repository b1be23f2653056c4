package servers

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"holm/policy"
)

// Resources finds the files and commands that a call of a server's tool
// reaches, by the maps that speak of the tool. Where a mapped argument is absent, or
// cannot be read as a text, the resource says so: see [policy.Resource].
func Resources(server string, maps []Map, args policy.Args) (all []policy.Resource) {
	raw := args.Raw()
	for _, m := range maps {
		all = append(all, m.resources(server, raw)...)
	}
	return all
}

// resources are what one map sees in the arguments.
func (m Map) resources(sandbox string, raw json.RawMessage) (all []policy.Resource) {
	at, dir := find(raw, m.Arg), named{}
	if m.CWD != "" {
		dir = find(raw, m.CWD)
	}
	if len(dir.texts) > 1 {
		dir.cannot("%q names several directories", m.CWD)
	}
	for _, text := range at.texts {
		all = append(all, m.resource(sandbox, text, strings.Join(dir.texts, "")))
	}
	if at.missing {
		all = append(all, policy.Resource{Type: m.Type, Sandbox: sandbox, Mode: m.Mode, Missing: m.Arg})
	}
	if problem := cmp.Or(at.problem, dir.problem); problem != "" {
		all = append(all, policy.Resource{Type: m.Type, Sandbox: sandbox, Mode: m.Mode, Unreadable: errors.New(problem)})
	}
	return all
}

func (m Map) resource(sandbox, text, cwd string) policy.Resource {
	r := policy.Resource{Type: m.Type, Sandbox: sandbox, Mode: m.Mode, Path: text}
	if m.Type == policy.TypeExec {
		r = policy.Resource{Type: m.Type, Sandbox: sandbox, Command: text, CWD: cwd}
	}
	if clean, err := r.Clean(); err == nil {
		return clean
	}
	return r
}

// BuiltinResources finds the files and commands that a call of one of Holm's own
// tools reaches, in the sandbox that its arguments name. Holm runs none of these:
// agents that have such tools ask the gate about them by these names.
func BuiltinResources(tool string, args policy.Args) []policy.Resource {
	resourceType, mode, ok := policy.Reaches(tool)
	if !ok {
		return nil
	}
	m := Map{Type: resourceType, Mode: mode, Arg: "path"}
	if resourceType == policy.TypeExec {
		m.Arg, m.CWD = "command", "cwd"
	}
	raw, sandbox := args.Raw(), policy.DefaultSandbox
	named := find(raw, "sandbox")
	if named.problem != "" {
		return []policy.Resource{{Type: m.Type, Mode: m.Mode, Unreadable: errors.New(named.problem)}}
	}
	if !named.missing {
		sandbox = named.texts[0]
	}
	return m.resources(sandbox, raw)
}

// MapsOf are the maps that speak of one tool.
func (s Server) MapsOf(tool string) (maps []Map) {
	for _, m := range s.Maps {
		if m.Tool == tool {
			maps = append(maps, m)
		}
	}
	return maps
}

// ToolOf takes a policy key apart for this server: the tool's own name, and
// false for keys of other servers. Names of servers hold no underscore, so no
// two servers claim one key.
func (s Server) ToolOf(key string) (tool string, ok bool) {
	return strings.CutPrefix(key, ResourceKey(s.Name, ""))
}

// ResourceKey is the policy resource of a server's tool.
func ResourceKey(server, tool string) string { return "mcp__" + server + "__" + tool }
