package policy

import (
	"path"
	"strings"
)

// pathMatcher reads a value as a file path: it cleans the value before it is matched.
type pathMatcher struct {
	inner    matcher
	absolute bool // whether an absolute path can match
	home     bool // whether the pattern begins with ~
	isTree   bool
	tree     treeOf // inner, if it is one: most are, and so it takes no detour
}

// beginsPath reports whether a pattern begins like a file path: with /, ./ or ~/, or
// with alternatives that all begin with /.
func beginsPath(nodes []globNode) bool {
	if len(nodes) == 0 {
		return false
	}
	switch first := nodes[0]; first.kind {
	case globSlash:
		return true
	case globText:
		return (first.text == "." || first.text == "~") && len(nodes) > 1 && nodes[1].kind == globSlash
	case globEither:
		for _, alternative := range first.either {
			if len(alternative) == 0 || alternative[0].kind == globText || !beginsPath(alternative) {
				return false
			}
		}
		return true
	}
	return false
}

func compilePath(field string, nodes []globNode) (matcher, *InvalidError) {
	clean, relative, err := cleanNodes(field, nodes)
	if err != nil {
		return nil, err
	}
	inner, err := compileParted(field, clean)
	if err != nil {
		return nil, err
	}
	m := &pathMatcher{inner: inner, absolute: !relative && mayBeAbsolute(clean), home: nodes[0].text == "~"}
	m.tree, m.isTree = inner.(treeOf)
	return m, nil
}

func (m *pathMatcher) match(text string) verdict { return m.matchCleaned(cleanPath(text)) }

// matchCleaned takes what cleanPath returns.
func (m *pathMatcher) matchCleaned(clean string, ok bool) verdict {
	switch {
	case !ok:
		return unjudged
	case clean[0] == '/':
		if !m.absolute {
			return differs
		}
	case clean[0] == '~' && !m.home, hasDrive(clean):
		// Where a home or a drive lies is the receiver's to know.
		return unjudged
	}
	if m.isTree {
		return m.tree.match(clean)
	}
	return m.inner.match(clean)
}

// cleanPath is path.Clean for paths that stay at or below where they begin; ok is
// false for others, and where receivers differ in what they read: at a NUL C programs
// stop, a backslash is a separator to some, and so are escapes that hide ".." to those
// that make an address of the path.
func cleanPath(text string) (clean string, ok bool) {
	if strings.IndexByte(text, 0) >= 0 || strings.IndexByte(text, '\\') >= 0 || strings.Contains(text, "..") && climbs(text) {
		return "", false
	}
	if strings.IndexByte(text, '%') >= 0 && hidesDots(text) {
		return "", false
	}
	return path.Clean(text), true
}

// climbs reports whether a path leads above where it begins. Nothing leads above ~.
func climbs(text string) bool {
	if strings.HasPrefix(text, "~") {
		_, text, _ = strings.Cut(text, "/")
	}
	depth := 0
	for segment := range strings.SplitSeq(text, "/") {
		switch segment {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

func hidesDots(text string) bool {
	form, ok := unescaped(text)
	return !ok || form != text && hasDotSegment(form)
}
