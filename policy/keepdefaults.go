package policy

import (
	"slices"
	"strings"
)

// KeepDefaults returns the allow rows that must be stored with row so that the
// built-in tools it is about keep the default grants which it would replace: for
// each tool that none of the other rows claims yet. One of them may have the key,
// effect and scope of row itself: its grants are then row's as well. A row that gives
// a tool to any, or takes it from any, leaves nobody to keep the defaults for: there
// is nothing to store then.
func KeepDefaults(rows []Row, row Row) []Row {
	if row.ResourceType != TypeTool || row.Validate() != nil {
		return nil
	}
	if slices.Contains(row.Grants, Any()) && (row.Effect != Allow || len(row.Scope.Args) == 0) {
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
