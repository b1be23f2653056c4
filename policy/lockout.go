package policy

import (
	"slices"
	"strings"
)

// Loss is a tool that a principal could use before a change and cannot after it.
type Loss struct {
	Tool      Tool      `json:"tool"`
	Principal Principal `json:"principal"`
	// Everyone says that nobody can use the tool after the change.
	Everyone bool `json:"everyone"`
}

// LockOut returns what a change of the rows must not take without force: a tool
// that Holm declares for owners alone, from an owner; and any tool, from all who
// could use it. principals are all that can call: the members, and the bare key.
// To use a tool is to get another decision than deny for some arguments, so that
// one which now needs approval is not lost. The losses are in the order of tools,
// then principals.
func LockOut(before, after *Set, tools []Tool, principals []Principal) []Loss {
	var losses []Loss
	for _, t := range tools {
		usable := func(s *Set) func(Principal) bool {
			return func(p Principal) bool { return s.Listed(p, t.Name, t.Server) }
		}
		everyone := !slices.ContainsFunc(principals, usable(after))
		forOwners := t.Server == "" && before.isForOwners(t.Name)
		for _, p := range principals {
			lost := usable(before)(p) && !usable(after)(p)
			if lost && (everyone || forOwners && p.Role == Owner) {
				losses = append(losses, Loss{Tool: t, Principal: p, Everyone: everyone})
			}
		}
	}
	return losses
}

func (s *Set) isForOwners(tool string) bool {
	if s.declared == nil {
		return false
	}
	grants, ok := s.declared(tool)
	return ok && slices.Equal(grants, ownersOnly)
}

// KeepDefaults returns the allow rows that must be stored with row so that the
// built-in tools it is about keep the default grants which it would replace: for
// each tool that none of the other rows claims yet. A row that allows means to
// replace them, and one that speaks for any leaves nobody to keep them for: there
// is nothing to store then.
func KeepDefaults(rows []Row, row Row) []Row {
	if row.ResourceType != TypeTool || row.Effect == Allow || row.Validate() != nil || slices.Contains(row.Grants, Any()) {
		return nil
	}
	var kept []Row
	for _, key := range builtinKeys(row.ResourceKey) {
		grants, _ := BuiltinGrants(key)
		if len(grants) == 0 || slices.ContainsFunc(rows, func(r Row) bool { return claimsTool(r, key) }) {
			continue
		}
		kept = append(kept, Row{
			AgentID: row.AgentID, ResourceType: TypeTool, ResourceKey: key, Effect: Allow,
			Grants: slices.Clone(grants), Origin: row.Origin, Note: "keeps the default grants of " + key,
		})
	}
	return kept
}

// builtinKeys are the built-in tools that a key matches. The tools for circles
// have a common key, as they have common grants.
func builtinKeys(key string) []string {
	pattern := parseStars(key)
	var keys []string
	for _, tool := range builtinNames {
		if pattern.matches(tool) {
			keys = append(keys, tool)
		}
	}
	before, _, isGlob := strings.Cut(key, "*")
	switch {
	case strings.HasPrefix(before, circleTools):
		keys = append(keys, key)
	case isGlob && strings.HasPrefix(circleTools, before):
		keys = append(keys, circleTools+"*")
	}
	return keys
}

func claimsTool(row Row, tool string) bool {
	return row.ResourceType == TypeTool && parseStars(row.ResourceKey).matches(tool) &&
		newRule(&row, 0, newPatternCache(), userNumbers{}).claims()
}
