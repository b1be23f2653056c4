package gateway

import (
	"encoding/json"
	"strings"

	"holm/policy"
)

// MetaWhy is the member of a call's _meta in which an agent says why it calls.
const MetaWhy = "holm/why"

// maxClaim bounds what is kept of an agent's words, in characters.
const maxClaim = 1000

// claimOf is what the agent says of a call, in its own words: in the argument that
// the rule names, else in the call's _meta. It decides nothing.
func claimOf(c *toolCall, args policy.Args, settings *policy.ApprovalSettings) string {
	if settings != nil && settings.Claim != "" {
		if said := memberOf(args.Raw(), settings.Claim); said != "" {
			return said
		}
	}
	return memberOf(c.meta, MetaWhy)
}

// memberOf is a text in a JSON object, empty where there is none.
func memberOf(object json.RawMessage, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(object, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	runes := []rune(strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")))
	return string(runes[:min(len(runes), maxClaim)])
}
