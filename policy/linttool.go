package policy

import (
	"slices"
	"strings"
	"unicode"
)

// checkTool looks at the key, the conditions and the schemas of a tool or mcp row.
func (l *linter) checkTool(r *rule) {
	l.contradictions(r)
	reached := ReachedBy(*r.row, l.Tools)
	if len(reached) == 0 {
		l.checkName(r)
		return
	}
	names := r.argumentNames(reached)
	for _, arg := range names.Unknown {
		l.report(r, FindingUnknownArgument, "no tool that it is about has the argument %q", arg)
	}
	l.openTools(r, names)
	if r.effect == Allow && len(r.conditions) > 0 {
		l.openPaths(r, reached)
	}
}

// HookTools begins the keys of tools of Claude Code that its hook asks about and
// that reach neither a file nor a command nor a server.
const HookTools = "claude_code__"

// checkName looks at a key that names no tool that is known.
func (l *linter) checkName(r *rule) {
	key := r.row.ResourceKey
	server, tool := serverOf(r.row)
	switch {
	case r.row.ResourceType == TypeTool && isHookPattern(key):
		if r.effect == Allow {
			l.report(r, FindingAnyTool, "it allows tools of Claude Code that nobody has looked at, whatever they do; name those that are harmless")
		}
	case r.row.ResourceType == TypeTool && (len(builtinKeys(key)) > 0 || strings.HasPrefix(key, HookTools)):
		return // which tools of the hook there are, Claude Code alone knows
	case slices.Contains(l.Servers, server) && !slices.ContainsFunc(l.Tools, func(t ToolInfo) bool { return t.Server == server }):
		l.report(r, FindingUnchecked, "which tools server %s has is not known yet", server)
	case r.row.ResourceType == TypeMCP, server != "" && !slices.Contains(l.Servers, server):
		l.report(r, FindingUnknownServer, "no server is called %q", server)
	case server != "" && strings.Contains(tool, "*"):
		l.report(r, FindingUnknownTool, "server %q has no tool that %q names", server, tool)
	case server != "":
		l.report(r, FindingUnknownTool, "server %q has no tool %q", server, tool)
	default:
		l.report(r, FindingUnknownTool, "no tool is called %q", key)
	}
}

// isHookPattern reports whether a key with a star is about tools of the hook, and
// not about all tools.
func isHookPattern(key string) bool {
	fixed, _, star := strings.Cut(key, "*")
	return star && fixed != "" && (strings.HasPrefix(fixed, HookTools) || strings.HasPrefix(HookTools, fixed))
}

// serverOf is the server that a row's key names, and its tool or pattern of tools;
// empty where the key names none. It is for messages: what a row is about is never
// found by splitting its key.
func serverOf(row *Row) (server, tool string) {
	if row.ResourceType == TypeMCP {
		return row.ResourceKey, ""
	}
	rest, ok := strings.CutPrefix(row.ResourceKey, "mcp__")
	if server, tool, _ = strings.Cut(rest, "__"); !ok || strings.Contains(server, "*") {
		return "", ""
	}
	return server, tool
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
