package gateway

import (
	"encoding/json"
	"strings"

	"holm/internal/servers"
	"holm/policy"
)

// resourcesOf finds the files and commands that a call reaches, by the maps of
// its server. An argument that is absent names none. One that names what cannot
// be judged, such as a relative path or an object, gives a resource that policy
// denies.
func resourcesOf(e *entry, args policy.Args) (all []policy.Resource) {
	for _, m := range e.maps {
		for _, text := range texts(args.Raw(), m.Arg) {
			r := policy.Resource{Type: m.Type, Sandbox: e.Server}
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

// mapsOf are the maps that speak of one tool.
func mapsOf(s servers.Server, tool string) (maps []servers.Map) {
	for _, m := range s.Maps {
		if m.Tool == tool {
			maps = append(maps, m)
		}
	}
	return maps
}

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
			if member, ok := object(value)[name]; ok && string(member) != "null" {
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

// elements are those of a list, or the value itself.
func elements(value json.RawMessage, each bool) []json.RawMessage {
	var list []json.RawMessage
	if each && json.Unmarshal(value, &list) == nil {
		return list
	}
	return []json.RawMessage{value}
}
