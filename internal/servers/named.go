package servers

import (
	"encoding/json"
	"fmt"
	"strings"
)

// named is what the arguments of a call hold at a dotted path, where [] after a
// name takes each element of a list.
type named struct {
	texts []string
	// missing: somewhere the path leads to nothing, as in an empty list.
	missing bool
	// problem says why something there cannot be read as a text; empty when all can.
	problem string
}

// find reads the path. A name with a dot or brackets in it is written like a path:
// both are meant, as in conditions.
func find(raw json.RawMessage, path string) (n named) {
	if text := strings.TrimSpace(string(raw)); text == "" || text == "null" {
		n.missing = true
		return n
	}
	steps := strings.Split(path, ".")
	top, _ := members(raw)
	if literal, ok := top[path]; ok && strings.ContainsAny(path, ".[") {
		n.leaf(path, literal)
		if _, ok := top[strings.TrimSuffix(steps[0], each)]; !ok {
			return n
		}
	}
	n.enter(raw, steps)
	return n
}

const each = "[]"

// enter goes into value, which has to be an object, along the path.
func (n *named) enter(value json.RawMessage, path []string) {
	name := strings.TrimSuffix(path[0], each)
	object, ok := members(value)
	if !ok {
		n.cannot("%q is wanted in what is no object", name)
		return
	}
	for other := range object {
		// Servers written in Go, among others, take it for the argument.
		if other != name && strings.EqualFold(other, name) {
			n.cannot("%q is written in another case", name)
		}
	}
	switch member, ok := object[name]; {
	case !ok:
		n.missing = true
	case name == path[0]:
		n.arrive(name, member, path[1:])
	default:
		n.elements(name, member, path[1:])
	}
}

func (n *named) arrive(name string, value json.RawMessage, rest []string) {
	if len(rest) == 0 {
		n.leaf(name, value)
		return
	}
	n.enter(value, rest)
}

// elements takes each element of a list. What is no list stands for its one
// element, unless servers might read a list out of it.
func (n *named) elements(name string, value json.RawMessage, rest []string) {
	var list []json.RawMessage
	var text string
	switch {
	case string(value) == "null":
		n.cannot("%q is null", name)
	case json.Unmarshal(value, &list) == nil:
		n.missing = n.missing || len(list) == 0
		for _, element := range list {
			n.arrive(name, element, rest)
		}
	case json.Unmarshal(value, &text) == nil && strings.IndexAny(strings.TrimSpace(text), `[{"`) == 0:
		n.cannot("%q is a text in place of a list", name)
	default:
		n.arrive(name, value, rest)
	}
}

// leaf takes a text; anything else in its place cannot be judged, null included:
// how a server reads it is not known.
func (n *named) leaf(name string, value json.RawMessage) {
	var text *string
	switch err := json.Unmarshal(value, &text); {
	case err != nil:
		n.cannot("%q is no text", name)
	case text == nil:
		n.cannot("%q is null", name)
	default:
		n.texts = append(n.texts, *text)
	}
}

func (n *named) cannot(format, name string) {
	if n.problem == "" {
		n.problem = fmt.Sprintf(format, name)
	}
}

// members are those of an object; ok is false where value is none.
func members(value json.RawMessage) (m map[string]json.RawMessage, ok bool) {
	ok = json.Unmarshal(value, &m) == nil && m != nil
	return m, ok
}
