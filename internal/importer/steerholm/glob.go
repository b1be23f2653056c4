package steerholm

import (
	"errors"
	"strings"

	"holm/policy"
)

// glob writes an fnmatch pattern for an argument in Holm's language.
func glob(pattern string) (text, note string, err error) {
	if text, err = escapeGlob(pattern); err != nil {
		return "", "", err
	}
	if err := policy.CheckGlob(text); err != nil {
		return "", "", err
	}
	return text, globNote(pattern), nil
}

// escapeGlob gives what is plain text to fnmatch, but not to Holm, a \ before it.
// Without a special character both languages compare the text as it is.
func escapeGlob(pattern string) (string, error) {
	if !strings.ContainsAny(pattern, "*?[{") {
		return pattern, nil
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if end := classEnd(pattern[i:]); end > 0 {
			class, err := escapeClass(pattern[i : i+end])
			if err != nil {
				return "", err
			}
			b.WriteString(class)
			i += end - 1
			continue
		}
		if strings.IndexByte(`\[]{}`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// escapeClass rewrites a class such as [!a-z]. Only ! negates in fnmatch, and
// nothing is escaped there.
func escapeClass(class string) (string, error) {
	members, negation := class[1:len(class)-1], ""
	if rest, ok := strings.CutPrefix(members, "!"); ok {
		members, negation = rest, "!"
	}
	if inner := strings.Trim(members, "-"); strings.Contains(inner, "--") || strings.Count(inner, "-") > 1 && ambiguous(inner) {
		return "", errors.New("its class of characters can be read in several ways")
	}
	var b strings.Builder
	for i := range len(members) {
		if strings.IndexByte(`\[]^!{},*?`, members[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(members[i])
	}
	return "[" + negation + b.String() + "]", nil
}

// ambiguous tells whether two ranges share an end, as in a-c-e.
func ambiguous(members string) bool {
	last := -3
	for i := range len(members) {
		if members[i] == '-' {
			if i-last < 3 {
				return true
			}
			last = i
		}
	}
	return false
}

// globNote says where the same pattern means something else in Holm.
func globNote(pattern string) string {
	switch {
	case strings.Contains(pattern, "/") && hasLoneStar(pattern):
		return "in " + pattern + " a * no longer crosses a /; write ** where it should"
	case strings.Contains(pattern, "/") && strings.ContainsAny(pattern, "?["):
		return "in " + pattern + " ? and [...] no longer stand for a /"
	}
	switch pattern {
	case "True", "False", "None":
		return pattern + " was Python's spelling of a value that Holm spells " + strings.Replace(strings.ToLower(pattern), "none", "null", 1)
	}
	return ""
}

func hasLoneStar(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '*' {
			continue
		}
		start := i
		for i < len(pattern) && pattern[i] == '*' {
			i++
		}
		if i-start == 1 {
			return true
		}
	}
	return false
}
