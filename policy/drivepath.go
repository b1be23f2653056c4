package policy

import (
	"path"
	"strings"
)

// driveMatcher judges paths of Windows, which begin with a drive. Windows takes most
// names in any case for the same: a value that differs from the pattern in case alone
// cannot be judged.
type driveMatcher struct {
	exact  matcher
	folded matcher // of the pattern in lower case
}

func hasDrive(text string) bool {
	return len(text) > 1 && text[1] == ':' && isLetter(text[0])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// beginsDrive reports whether a pattern begins with a drive and a separator.
func beginsDrive(pattern string) bool {
	return hasDrive(pattern) && len(pattern) > 2 && (pattern[2] == '/' || pattern[2] == '\\')
}

// compileDrive takes a pattern in which a backslash is a separator and escapes nothing.
func compileDrive(field, pattern string) (matcher, *InvalidError) {
	slashed := strings.ToUpper(pattern[:1]) + strings.ReplaceAll(pattern[1:], `\`, "/")
	exact, err := compileCleaned(field, slashed)
	if err != nil {
		return nil, err
	}
	folded, err := compileCleaned(field, strings.ToLower(slashed))
	if err != nil {
		return nil, err
	}
	return &driveMatcher{exact, folded}, nil
}

func compileCleaned(field, pattern string) (matcher, *InvalidError) {
	nodes, err := parseNodes(field, pattern)
	if err != nil {
		return nil, err
	}
	nodes, _, err = cleanNodes(field, nodes)
	if err != nil {
		return nil, err
	}
	return compileParted(field, nodes)
}

func (m *driveMatcher) match(text string) verdict {
	clean, ok := cleanDrive(text)
	switch {
	case !ok:
		return unjudged
	case !hasDrive(clean):
		return differs // a relative path
	case m.exact.match(clean) == matches:
		return matches
	case m.folded.match(strings.ToLower(clean)) == matches:
		return unjudged
	}
	return differs
}

// cleanDrive cleans a path of Windows. ok is false for one whose drive is open (\dir,
// C:dir, \\server), that climbs, or that has a name which Windows reads as another: with
// a dot or blank at the end, a stream (name:stream) or a short form (NAME~1).
func cleanDrive(text string) (clean string, ok bool) {
	slashed := strings.ReplaceAll(text, `\`, "/")
	if slashed == "" || slashed[0] == '/' || hasControl(slashed) || climbs(slashed) {
		return "", false
	}
	names := slashed
	if hasDrive(slashed) {
		if len(slashed) < 3 || slashed[2] != '/' || climbs(slashed[2:]) {
			return "", false
		}
		slashed, names = strings.ToUpper(slashed[:1])+slashed[1:], slashed[2:]
	}
	for name := range strings.SplitSeq(names, "/") {
		if isOddName(name) {
			return "", false
		}
	}
	return path.Clean(slashed), true
}

func isOddName(name string) bool {
	if name == "." || name == ".." {
		return false
	}
	_, short, hasTilde := strings.Cut(name, "~")
	return strings.Contains(name, ":") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") ||
		hasTilde && short != "" && isDigit(short[0])
}
