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

// builtinMaps are what Holm's own tools for files and commands reach. Holm runs
// none of them: agents that have such tools ask the gate about them by these names.
var builtinMaps = map[string]Map{
	"exec":        {Type: policy.TypeExec, Arg: "command", CWD: "cwd"},
	"file_read":   {Type: policy.TypeFile, Mode: policy.ModeRead, Arg: "path"},
	"file_list":   {Type: policy.TypeFile, Mode: policy.ModeRead, Arg: "path"},
	"file_stat":   {Type: policy.TypeFile, Mode: policy.ModeRead, Arg: "path"},
	"file_write":  {Type: policy.TypeFile, Mode: policy.ModeWrite, Arg: "path"},
	"file_edit":   {Type: policy.TypeFile, Mode: policy.ModeWrite, Arg: "path"},
	"file_delete": {Type: policy.TypeFile, Mode: policy.ModeWrite, Arg: "path"},
}

// BuiltinResources finds the files and commands that a call of one of Holm's own
// tools reaches, in the sandbox that its arguments name.
func BuiltinResources(tool string, args policy.Args) []policy.Resource {
	m, ok := builtinMaps[tool]
	if !ok {
		return nil
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
