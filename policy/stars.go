package policy

import "strings"

// starMatcher matches text in which * stands for any text, by comparing strings.
// parts are what lies between the stars; there are at least two.
type starMatcher struct {
	parts []string
}

// parseStars reads text in which only * is special.
func parseStars(text string) starMatcher {
	return starMatcher{parts: strings.Split(text, "*")}
}

// starPattern turns a parsed glob of nothing but text and stars into a matcher.
func starPattern(nodes []globNode) (starMatcher, bool) {
	parts := []string{""}
	for _, n := range nodes {
		switch n.kind {
		case globText:
			parts[len(parts)-1] += n.text
		case globSlash:
			parts[len(parts)-1] += "/"
		case globStar, globDeep:
			parts = append(parts, "")
		default:
			return starMatcher{}, false
		}
	}
	return starMatcher{parts: parts}, true
}

func (m starMatcher) match(text string) verdict { return verdictOf(m.matches(text)) }

// matches takes the first part as a prefix, the last as a suffix, and each other
// at its first place in what is left.
func (m starMatcher) matches(text string) bool {
	last := len(m.parts) - 1
	if last == 0 {
		return text == m.parts[0]
	}
	rest, ok := strings.CutPrefix(text, m.parts[0])
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, m.parts[last])
	for _, part := range m.parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return ok
}
