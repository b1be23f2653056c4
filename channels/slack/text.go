package slack

import (
	"regexp"
	"strings"
)

var (
	teamID = regexp.MustCompile(`^T[A-Z0-9]+$`)
	userID = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
	// bracketed is a link or a mention as Slack writes it into typed text.
	bracketed = regexp.MustCompile(`<([^<>|]*)(?:\|([^<>]*))?>`)
	entities  = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// escape makes text that Slack would read as markup plain.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func isTeam(s string) bool { return teamID.MatchString(s) }
func isUser(s string) bool { return userID.MatchString(s) }

// plain is what a person typed: Slack wraps addresses in brackets and escapes
// &, < and > (docs.slack.dev/messaging/formatting-message-text). Mentions of
// people and channels keep their form <@U…>, without a name.
func plain(text string) string {
	text = bracketed.ReplaceAllStringFunc(text, func(s string) string {
		parts := bracketed.FindStringSubmatch(s)
		target, label := parts[1], parts[2]
		switch {
		case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"), strings.HasPrefix(target, "!"):
			return "&lt;" + target + "&gt;"
		case label != "" && strings.HasSuffix(target, label): // Slack added http:// or mailto:
			return label
		}
		return target
	})
	return strings.TrimSpace(entities.Replace(text))
}
