package policy

import (
	"slices"
	"strings"
	"unicode"
)

// checkTool looks at the key, the conditions and the schemas of a tool or mcp row.
func (l *linter) checkTool(r *rule) {
	l.contradictions(r)
	reached := l.reached(r)
	if len(reached) == 0 {
		l.checkName(r)
		return
	}
	for i := range r.conditions {
		c := &r.conditions[i]
		if !slices.ContainsFunc(reached, func(t ToolInfo) bool { return schema(t.InputSchema).takes(c) }) {
			l.report(r, FindingUnknownArgument, "no tool that it is about has the argument %q", c.arg)
		}
	}
	if r.effect == Allow && len(r.conditions) > 0 {
		l.openPaths(r, reached)
	}
}

// reached are the known tools that the row is about.
func (l *linter) reached(r *rule) []ToolInfo {
	pattern := parseStars(r.row.ResourceKey)
	return slices.DeleteFunc(slices.Clone(l.tools), func(t ToolInfo) bool {
		if r.row.ResourceType == TypeMCP {
			return t.Server == "" || !pattern.matches(t.Server)
		}
		return !pattern.matches(t.Name)
	})
}

// HookTools begins the keys of tools of Claude Code that its hook asks about and
// that reach neither a file nor a command nor a server.
const HookTools = "claude_code__"

func (l *linter) checkName(r *rule) {
	key := r.row.ResourceKey
	fixed, _, star := strings.Cut(key, "*")
	switch {
	case r.row.ResourceType == TypeTool && star && fixed != "" && (strings.HasPrefix(fixed, HookTools) || strings.HasPrefix(HookTools, fixed)):
		if r.effect == Allow {
			l.report(r, FindingAnyTool, "it allows tools of Claude Code that nobody has looked at, whatever they do; name those that are harmless")
		}
	case r.row.ResourceType == TypeTool && strings.HasPrefix(key, HookTools):
		return // which there are, Claude Code alone knows
	case r.row.ResourceType == TypeMCP:
		l.report(r, FindingUnknownServer, "no server is called %q", key)
	case len(builtinKeys(key)) == 0:
		l.report(r, FindingUnknownTool, "no tool is called %q", key)
	}
}

// contradictions finds allow rows that want two things of one argument: no value
// has both, and an array is judged element by element.
func (l *linter) contradictions(r *rule) {
	if r.effect != Allow {
		return
	}
	for i, c := range r.row.Scope.Args {
		if c.Match == MatchRegex || strings.ContainsAny(c.Pattern, globSpecials) {
			continue
		}
		for j, other := range r.row.Scope.Args {
			if i == j || other.Arg != c.Arg || r.conditions[j].matcher.match(c.Pattern) != differs {
				continue
			}
			if c.Required || other.Required {
				l.report(r, FindingNeverMatches, "the argument %q cannot be %q and match %q", c.Arg, clip(c.Pattern), clip(other.Pattern))
			} else {
				l.report(r, FindingNeverMatches, "the argument %q cannot be %q and match %q: only calls without it pass", c.Arg, clip(c.Pattern), clip(other.Pattern))
			}
			return
		}
	}
}

// openPaths names the arguments that look like paths and that no condition is about.
func (l *linter) openPaths(r *rule, reached []ToolInfo) {
	var names []string
	for _, t := range reached {
		names = append(names, schema(t.InputSchema).names()...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		limited := slices.ContainsFunc(r.conditions, func(c condition) bool { return c.path[0].name == name || c.arg == name })
		if looksLikePath(name) && !limited {
			l.report(r, FindingPathOpen, "it limits other arguments and leaves %q open", name)
		}
	}
}

var pathWords = strings.Fields("path paths file files filename filepath dir dirs directory directories folder folders cwd root source src destination dest dst target")

// looksLikePath takes a name apart at capitals, underscores and the like.
func looksLikePath(name string) bool {
	var spaced strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(c))
	}
	words := strings.FieldsFunc(spaced.String(), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(pathWords, word) })
}
