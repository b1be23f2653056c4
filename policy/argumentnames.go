package policy

import "slices"

// ArgumentNames is what the schemas of tools say about the arguments that a row's
// conditions name. A wrong name would make the condition hold for every call, or
// for none.
type ArgumentNames struct {
	// Unknown are the arguments that no tool which the row is about has; tools whose
	// schema leaves names open count for none if others are known not to have it.
	Unknown []string
	// Declared are the arguments that these tools have.
	Declared []string
	// Unchecked says that no tool which the row is about is known with its arguments.
	Unchecked bool
	// Open are tools that an allow row opens for any arguments, since they do not have
	// the argument of a condition.
	Open []string
}

// CheckArguments compares the conditions of a tool or mcp row with the tools that
// are known. A row that cannot be used has none.
func CheckArguments(row Row, tools []ToolInfo) ArgumentNames {
	r := newRule(&row, 0, newPatternCache(), userNumbers{})
	if len(r.conditions) == 0 {
		return ArgumentNames{}
	}
	return r.argumentNames(ReachedBy(row, tools))
}

// argumentNames is about the tools that the rule reaches.
func (r *rule) argumentNames(reached []ToolInfo) ArgumentNames {
	names := ArgumentNames{Unchecked: true}
	for _, t := range reached {
		names.Declared = append(names.Declared, schema(t.InputSchema).names()...)
		names.Unchecked = names.Unchecked && len(t.InputSchema) == 0
	}
	slices.Sort(names.Declared)
	names.Declared = slices.Compact(names.Declared)
	if names.Unchecked {
		return names
	}
	for i := range r.conditions {
		r.compareName(&r.conditions[i], reached, &names)
	}
	return names
}

func (r *rule) compareName(c *condition, reached []ToolInfo, names *ArgumentNames) {
	takes := func(t ToolInfo) bool { return schema(t.InputSchema).takes(c) }
	declares := func(t ToolInfo) bool { return takes(t) && schema(t.InputSchema).declares(c) }
	without := slices.DeleteFunc(slices.Clone(reached), takes)
	switch {
	case len(without) == 0:
	case !slices.ContainsFunc(reached, declares):
		names.Unknown = append(names.Unknown, c.arg)
	case r.effect == Allow && !c.required:
		for _, t := range without {
			if !slices.Contains(names.Open, t.Name) {
				names.Open = append(names.Open, t.Name)
			}
		}
	}
}

// ReachedBy returns those of the tools that a tool or mcp row is about.
func ReachedBy(row Row, tools []ToolInfo) []ToolInfo {
	pattern := parseStars(row.ResourceKey)
	return slices.DeleteFunc(slices.Clone(tools), func(t ToolInfo) bool {
		if row.ResourceType == TypeMCP {
			return t.Server == "" || !pattern.matches(t.Server)
		}
		return !pattern.matches(t.Name)
	})
}
