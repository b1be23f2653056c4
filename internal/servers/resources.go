package servers

import (
	"encoding/json"
	"strings"

	"holm/policy"
)

// Resources finds the files and commands that a call of a server's tool
// reaches, by the maps that speak of the tool. An argument that is absent names
// none. One that names what cannot be judged, such as a relative path or an
// object, gives a resource that policy denies.
func Resources(server string, maps []Map, args policy.Args) (all []policy.Resource) {
	for _, m := range maps {
		for _, text := range texts(args.Raw(), m.Arg) {
			r := policy.Resource{Type: m.Type, Sandbox: server}
			if m.Type == policy.TypeFile {
				r.Mode, r.Path = m.Mode, text
			} else {
				r.Command, r.CWD = text, first(texts(args.Raw(), m.CWD))
			}
			if clean, err := r.Clean(); err == nil {
				r = clean
			}
			all = append(all, r)
		}
	}
	return all
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

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// texts gives the strings at a dotted path, where [] after a name takes each
// element of a list. What is there and is no string gives an empty text, which
// names nothing that could be judged.
func texts(raw json.RawMessage, path string) []string {
	values := []json.RawMessage{raw}
	if path == "" || len(raw) == 0 {
		return nil
	}
	for _, name := range strings.Split(path, ".") {
		name, each := strings.CutSuffix(name, "[]")
		var next []json.RawMessage
		for _, value := range values {
			if member, ok := members(value)[name]; ok && string(member) != "null" {
				next = append(next, elements(member, each)...)
			}
		}
		values = next
	}
	var all []string
	for _, value := range values {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = ""
		}
		all = append(all, text)
	}
	return all
}

func members(raw json.RawMessage) (m map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &m) // what is no object has no members
	return m
}

// elements are those of a list, or the value itself.
func elements(value json.RawMessage, each bool) []json.RawMessage {
	var list []json.RawMessage
	if each && json.Unmarshal(value, &list) == nil {
		return list
	}
	return []json.RawMessage{value}
}
