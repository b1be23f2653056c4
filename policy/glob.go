package policy

import (
	"path"
	"strings"
)

// CheckGlob reports whether pattern is a usable glob, with an [*InvalidError]
// that holds the position if not.
//
//   - Without any of * ? [ { the pattern is the exact value.
//   - * is any text, ? one character, [a-z] and [!a-z] (or [^a-z]) a character of a
//     class, {a,b} either alternative; \ takes its special meaning from one of
//   - ? [ ] { } , ! ^ - \ and is itself before anything else.
//   - A pattern with a / is about paths. The value is cleaned first (".", "..",
//     "//", a slash at the end). * and ? and classes then stay within a segment and **
//     crosses segments; * that fills a segment needs a character. dir/** includes
//     dir, **/name includes name, and a/**/b includes a/b. A pattern that begins with neither / nor **
//     is about relative paths only.
//   - A path that climbs above where it begins with "..", or has a NUL, cannot be
//     judged: it fails an allow row and fulfils the others.
//
// In shells and in Python's fnmatch * crosses / or not by other rules: here it
// does exactly when the pattern has no /.
func CheckGlob(pattern string) error {
	if _, err := compilePattern(MatchGlob, pattern); err != nil {
		err.Field = "glob"
		return err
	}
	return nil
}

func compileGlob(field, pattern string) (matcher, *InvalidError) {
	if strings.Contains(pattern, "/") {
		return compilePathGlob(field, pattern)
	}
	if !strings.ContainsAny(pattern, globSpecials) {
		return exactText(pattern), nil
	}
	nodes, err := parseGlob(field, pattern)
	if err != nil {
		return nil, err
	}
	if stars, ok := starPattern(nodes); ok {
		return stars, nil
	}
	emit := &globEmitter{}
	emit.sequence(nodes, true, true)
	return emit.compile(field)
}

func compilePathGlob(field, pattern string) (matcher, *InvalidError) {
	nodes := literalNodes(pattern)
	if strings.ContainsAny(pattern, globSpecials) {
		var err *InvalidError
		if nodes, err = parseGlob(field, pattern); err != nil {
			return nil, err
		}
	}
	nodes, relative, err := cleanNodes(field, nodes)
	if err != nil {
		return nil, err
	}
	inner, err := compileCleaned(field, nodes)
	if err != nil {
		return nil, err
	}
	m := &pathMatcher{inner: inner, absolute: !relative && mayBeAbsolute(nodes)}
	m.tree, m.isTree = inner.(treeOf)
	return m, nil
}

func compileCleaned(field string, nodes []globNode) (matcher, *InvalidError) {
	if text, ok := literalText(nodes); ok {
		return exactText(text), nil
	}
	if dir, ok := treePattern(nodes); ok {
		return treeOf(dir + "/"), nil
	}
	emit := &globEmitter{paths: true}
	emit.sequence(nodes, true, true)
	return emit.compile(field)
}

// exactText matches one text.
type exactText string

func (m exactText) match(text string) verdict { return verdictOf(text == string(m)) }

// treeOf matches a directory and everything below it.
type treeOf string // ends with a slash

func (m treeOf) match(text string) verdict {
	below := string(m)
	return verdictOf(text == below[:len(below)-1] || strings.HasPrefix(text, below))
}

// pathMatcher cleans a value before it is matched.
type pathMatcher struct {
	inner    matcher
	absolute bool // whether an absolute path can match
	isTree   bool
	tree     treeOf // inner, if it is one: most are, and so it takes no detour
}

func (m *pathMatcher) match(text string) verdict { return m.matchCleaned(cleanPath(text)) }

// matchCleaned takes what cleanPath returns.
func (m *pathMatcher) matchCleaned(clean string, ok bool) verdict {
	if !ok {
		return unjudged
	}
	if clean[0] == '/' && !m.absolute {
		return differs
	}
	if m.isTree {
		return m.tree.match(clean)
	}
	return m.inner.match(clean)
}

// cleanPath is path.Clean for paths that stay at or below where they begin; ok is
// false for others, and for paths with a NUL, at which C programs stop reading.
func cleanPath(text string) (clean string, ok bool) {
	if strings.IndexByte(text, 0) >= 0 || strings.Contains(text, "..") && climbs(text) {
		return "", false
	}
	return path.Clean(text), true
}

func climbs(text string) bool {
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

// compile makes the regular expression of what was emitted.
func (e *globEmitter) compile(field string) (matcher, *InvalidError) {
	if e.empty > 0 {
		return nil, invalid(field, "a class of nothing but / never matches within a path").at(e.empty)
	}
	return compileRegex(field, `(?s:`+e.out.String()+`)`)
}
