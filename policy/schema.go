package policy

import (
	"slices"
	"strings"
)

// schema is the JSON Schema of an object or a value; empty when it is not known.
type schema string

// part returns a keyword's value; empty if the schema does not have it.
func (s schema) part(keyword string) schema {
	text := strings.TrimSpace(string(s))
	if text == "" || checkJSON("schema", text) != nil || text[0] != '{' {
		return ""
	}
	for _, m := range members(text) {
		if m.name == keyword {
			return schema(m.value)
		}
	}
	return ""
}

// names are the arguments that the schema declares.
func (s schema) names() []string {
	properties := string(s.part("properties"))
	if !strings.HasPrefix(properties, "{") {
		return nil
	}
	var names []string
	for _, m := range members(properties) {
		names = append(names, m.name)
	}
	return names
}

// isOpen reports whether names beyond the declared ones are meant, or unknown. That
// additional ones are not forbidden says nothing: hardly a schema forbids them.
func (s schema) isOpen() bool {
	more := s.part("additionalProperties")
	if more != "false" && (more != "" || len(s.names()) == 0) {
		return true
	}
	return slices.ContainsFunc(namesElsewhere, func(keyword string) bool { return s.part(keyword) != "" })
}

// namesElsewhere are the keywords that may declare further names.
var namesElsewhere = []string{"$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "patternProperties", "dependentSchemas", "dependencies", "if"}

// isText reports whether the schema says that a value has neither members nor
// elements.
func (s schema) isText() bool {
	return slices.Contains([]schema{`"string"`, `"number"`, `"integer"`, `"boolean"`, `"null"`}, s.part("type"))
}

// declares reports whether the schema names what the condition's argument begins
// with.
func (s schema) declares(c *condition) bool {
	properties := s.part("properties")
	return properties.part(c.arg) != "" || properties.part(c.path[0].name) != ""
}

// takes reports whether a call may carry the argument of a condition.
func (s schema) takes(c *condition) bool {
	return s.isOpen() || s.part("properties").part(c.arg) != "" || s.leadsTo(c.path)
}

func (s schema) leadsTo(path []step) bool {
	if len(path) == 0 {
		return true
	}
	if s.isText() || s.part("type") == `"array"` {
		return false // members of a text, or of a list without [] after its name
	}
	if s.isOpen() {
		return true
	}
	inner := s.part("properties").part(path[0].name)
	if inner == "" {
		return false
	}
	for path[0].each && inner.part("items") != "" {
		inner = inner.part("items")
	}
	if path[0].each && inner.part("type") == `"array"` {
		return true // of elements that the schema does not tell
	}
	return inner.leadsTo(path[1:])
}
