package policy

import "strings"

// CheckGlob reports whether pattern is a usable glob, with an [*InvalidError]
// that holds the position if not.
//
//   - Without any of * ? [ { the pattern is the exact value.
//   - * is any text, ? one character, [a-z] and [!a-z] (or [^a-z]) a character of a
//     class, {a,b} either alternative; \ takes its special meaning from one of
//   - ? [ ] { } , ! ^ - \ and is itself before anything else.
//   - In a pattern with a / * and ? and classes stay within a segment and ** crosses
//     segments; * that fills a segment needs a character. dir/** includes dir,
//     **/name includes name, and a/**/b includes a/b.
//   - A pattern that begins with /, ~/ or ./ reads the value as a file path, cleaned
//     first (".", "..", "//", a slash at the end). One that climbs above where it
//     begins, or has a NUL or a backslash, cannot be judged; nor can one that begins
//     with ~ or a drive unless the pattern does. A pattern that begins with a drive
//     reads a path of Windows, and has no escapes.
//   - A pattern with :// is an address: see compileAddress.
//   - Any other pattern with a / takes the value as it is. A value with a "." or ".."
//     segment cannot be judged, nor one that a receiver could read as another name for
//     which the pattern says something else.
//
// What cannot be judged fails an allow row and fulfils the others. In shells and in
// Python's fnmatch * crosses / or not by other rules: here it does exactly when the
// pattern has no /.
func CheckGlob(pattern string) error {
	if _, err := compilePattern(MatchGlob, pattern); err != nil {
		err.Field = "glob"
		return err
	}
	return nil
}

func compileGlob(field, pattern string) (matcher, *InvalidError) {
	switch {
	case beginsDrive(pattern):
		return compileDrive(field, pattern)
	case strings.Contains(pattern, "://") && !isPathStart(pattern):
		return compileAddress(field, pattern)
	case !strings.Contains(pattern, "/"):
		return compileText(field, pattern)
	}
	nodes, err := parseNodes(field, pattern)
	if err != nil {
		return nil, err
	}
	if beginsPath(nodes) {
		return compilePath(field, nodes)
	}
	return compileSlashes(field, nodes)
}

func isPathStart(pattern string) bool {
	return strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "~/")
}

func parseNodes(field, pattern string) ([]globNode, *InvalidError) {
	if !strings.ContainsAny(pattern, globSpecials) {
		return literalNodes(pattern), nil
	}
	return parseGlob(field, pattern)
}

// compileText takes a pattern without a slash.
func compileText(field, pattern string) (matcher, *InvalidError) {
	if !strings.ContainsAny(pattern, globSpecials) {
		return exactText(pattern), nil
	}
	nodes, err := parseGlob(field, pattern)
	if err != nil {
		return nil, err
	}
	return compilePlain(field, nodes)
}

// compilePlain takes nodes among which a slash is text like any other.
func compilePlain(field string, nodes []globNode) (matcher, *InvalidError) {
	if text, ok := literalText(nodes); ok {
		return exactText(text), nil
	}
	if stars, ok := starPattern(nodes); ok {
		return stars, nil
	}
	emit := &globEmitter{}
	emit.sequence(nodes, true, true)
	return emit.compile(field)
}

// compileParted takes nodes among which a slash parts segments.
func compileParted(field string, nodes []globNode) (matcher, *InvalidError) {
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

// compile makes the regular expression of what was emitted.
func (e *globEmitter) compile(field string) (matcher, *InvalidError) {
	if e.empty > 0 {
		return nil, invalid(field, "a class of nothing but / never matches within a path").at(e.empty)
	}
	return compileRegex(field, `(?s:`+e.out.String()+`)`)
}
