package policy

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// slashMatcher judges names with slashes as they are: repositories, image names, refs,
// keys, and the paths of addresses. Receivers differ in what they take for the same
// name: some decode %2F, some take a backslash for a slash or // for /. A name is
// judged where the pattern says the same of it as of its loosest reading.
type slashMatcher struct {
	exact    matcher // of the pattern as it is written
	loose    matcher // of the loosest reading of the pattern
	absolute bool    // whether a name that begins with a slash can match
}

func compileSlashes(field string, nodes []globNode) (matcher, *InvalidError) {
	m, err := newSlashMatcher(field, nodes)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func newSlashMatcher(field string, nodes []globNode) (*slashMatcher, *InvalidError) {
	if err := refuseDots(field, nodes); err != nil {
		return nil, err
	}
	exact, err := compileParted(field, nodes)
	if err != nil {
		return nil, err
	}
	clean, _, err := cleanNodes(field, loosened(nodes))
	if err != nil {
		return nil, err
	}
	loose, err := compileParted(field, clean)
	if err != nil {
		return nil, err
	}
	return &slashMatcher{exact: exact, loose: loose, absolute: mayBeAbsolute(nodes)}, nil
}

// refuseDots refuses a pattern with a segment that no value has which can be judged.
func refuseDots(field string, nodes []globNode) *InvalidError {
	for i, n := range nodes {
		whole := n.kind == globText && (i == 0 || nodes[i-1].kind == globSlash) && closes(nodes[i+1:], true)
		if whole && (n.text == "." || n.text == "..") {
			return invalid(field, "%q never matches: a value with such a segment cannot be judged", n.text).at(n.at)
		}
	}
	return nil
}

// loosened is the loosest reading of a pattern: escapes decoded, backslashes taken for
// slashes.
func loosened(nodes []globNode) []globNode {
	var out []globNode
	for _, n := range nodes {
		form, ok := n.text, n.kind == globText
		if ok {
			form, ok = unescaped(n.text)
		}
		switch {
		case ok:
			for _, char := range strings.ReplaceAll(form, `\`, "/") {
				out = appendChar(out, string(char), n.at)
			}
		case n.kind == globEither:
			n.either = slices.Clone(n.either)
			for i := range n.either {
				n.either[i] = loosened(n.either[i])
			}
			fallthrough
		default:
			out = append(out, n)
		}
	}
	return out
}

func (m *slashMatcher) match(text string) verdict {
	form, ok := m.loosest(text)
	if !ok {
		return unjudged
	}
	v := differs
	if m.absolute || !strings.HasPrefix(text, "/") {
		v = m.exact.match(text)
	}
	if m.loose.match(form) != v {
		return unjudged
	}
	return v
}

// loosest is the loosest reading of a name; ok is false for one with a "." or ".."
// segment or with control characters, which some receivers drop.
func (m *slashMatcher) loosest(text string) (form string, ok bool) {
	form, ok = unescaped(text)
	if !ok || hasControl(form) || hasDotSegment(form) {
		return "", false
	}
	if strings.IndexByte(form, '\\') >= 0 {
		form = strings.ReplaceAll(form, `\`, "/")
	}
	if strings.Contains(form, "//") || len(form) > 1 && form[len(form)-1] == '/' {
		form = path.Clean(form)
	}
	if !m.absolute {
		form = strings.TrimPrefix(form, "/")
	}
	return form, true
}

func hasControl(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return true
		}
	}
	return false
}

// hasDotSegment reports whether a segment is "." or "..", also with a parameter or
// blanks after it, which some receivers drop.
func hasDotSegment(text string) bool {
	for text != "" {
		end := strings.IndexAny(text, `/\`)
		segment, rest := text, ""
		if end >= 0 {
			segment, rest = text[:end], text[end+1:]
		}
		if segment != "" && (segment[0] == '.' || segment[0] == ' ') {
			segment, _, _ = strings.Cut(segment, ";")
			if segment = strings.Trim(segment, " "); segment == "." || segment == ".." {
				return true
			}
		}
		text = rest
	}
	return false
}

// maxEscapes is how often a text may be escaped within itself.
const maxEscapes = 4

// unescaped decodes %XX until none is left. ok is false for text that is escaped too
// often, or that hides no valid Unicode.
func unescaped(text string) (form string, ok bool) {
	form = text
	for range maxEscapes {
		next := unescape(form)
		if next == form {
			return form, form == text || utf8.ValidString(form)
		}
		form = next
	}
	return "", false
}

// unescape decodes each %XX once, and leaves a % that no two hexadecimal digits follow.
func unescape(text string) string {
	i := strings.IndexByte(text, '%')
	if i < 0 {
		return text
	}
	out := append(make([]byte, 0, len(text)), text[:i]...)
	for ; i < len(text); i++ {
		if c, ok := escapedByte(text[i:]); ok {
			out = append(out, c)
			i += 2
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

// escapedByte reads %XX at the beginning of text.
func escapedByte(text string) (c byte, ok bool) {
	if len(text) < 3 || text[0] != '%' {
		return 0, false
	}
	high, low := hexValue(text[1]), hexValue(text[2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

// hexValue is negative for what is no hexadecimal digit.
func hexValue(c byte) int {
	if 'A' <= c && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte(hexDigits, c)
}
