package policy

import (
	"slices"
	"unicode/utf8"
)

// canonicalJSON appends the canonical form of a checked JSON value: RFC 8785
// (members sorted by UTF-16 code units, no spaces, shortest escapes), but numbers
// keep the spelling they came in. So 9007199254740993 stays what it is, and 1 and
// 1.0 are two texts: what an upstream may tell apart is never one approval.
func canonicalJSON(out []byte, value string) []byte {
	switch value[0] {
	case '"':
		return quote(out, unquote(value))
	case '{':
		return canonicalObject(out, value)
	case '[':
		return canonicalArray(out, value)
	}
	return append(out, value...)
}

func canonicalArray(out []byte, array string) []byte {
	out = append(out, '[')
	for c, n := inside(array), 0; ; n++ {
		element, ok := c.element()
		if !ok {
			return append(out, ']')
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = canonicalJSON(out, element)
	}
}

func canonicalObject(out []byte, object string) []byte {
	return canonicalMembers(out, members(object))
}

// members returns the members of an object in the order they were written.
func members(object string) []member {
	var all []member
	for c := inside(object); ; {
		m, ok := c.member()
		if !ok {
			return all
		}
		all = append(all, m)
	}
}

func canonicalMembers(out []byte, all []member) []byte {
	slices.SortFunc(all, func(a, b member) int { return compareUTF16(a.name, b.name) })
	out = append(out, '{')
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(quote(out, m.name), ':')
		out = canonicalJSON(out, m.value)
	}
	return append(out, '}')
}

// compareUTF16 orders texts by their UTF-16 code units. That differs from the
// order of characters where one needs a surrogate pair: those sort before U+E000.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return unitOrder(x, y)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

func unitOrder(x, y rune) int {
	const firstPair, afterSurrogates = 0x10000, 0xE000
	switch {
	case x >= firstPair && y < firstPair && y >= afterSurrogates:
		return -1
	case y >= firstPair && x < firstPair && x >= afterSurrogates:
		return 1
	}
	return int(x - y)
}

const hexDigits = "0123456789abcdef"

// quote appends text as a JSON string with no escape that is not needed.
func quote(out []byte, text string) []byte {
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case shortEscapes[c] != 0:
			out = append(out, '\\', shortEscapes[c])
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(out, '"')
}

var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}
