package policy

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions of this file walk over JSON text that checkJSON accepted. They
// allocate nothing but the decoded form of strings that hold escapes.

func skipSpace(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the place after the value that begins at i.
func skipValue(text string, i int) int {
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	}
	for i < len(text) && strings.IndexByte(",]} \t\r\n", text[i]) < 0 {
		i++
	}
	return i
}

func skipString(text string, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipNested(text string, i int) int {
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// cursor steps through the members of an object or the elements of an array.
type cursor struct {
	text string
	pos  int
}

// inside returns a cursor before the first entry of an object or array.
func inside(nested string) cursor { return cursor{text: nested, pos: 1} }

// element returns the raw text of the next element.
func (c *cursor) element() (value string, ok bool) {
	i := skipSpace(c.text, c.pos)
	if c.text[i] == ',' {
		i = skipSpace(c.text, i+1)
	}
	if c.text[i] == ']' || c.text[i] == '}' {
		return "", false
	}
	c.pos = skipValue(c.text, i)
	return c.text[i:c.pos], true
}

// member returns the decoded name and the raw value of the next member.
func (c *cursor) member() (m member, ok bool) {
	name, ok := c.element()
	if !ok {
		return member{}, false
	}
	start := skipSpace(c.text, skipSpace(c.text, c.pos)+1)
	c.pos = skipValue(c.text, start)
	return member{name: unquote(name), value: c.text[start:c.pos]}, true
}

// member is one entry of an object; value is its raw JSON.
type member struct{ name, value string }

// unquote decodes a JSON string; one without escapes is a part of the text itself.
func unquote(quoted string) string {
	body := quoted[1 : len(quoted)-1]
	i := strings.IndexByte(body, '\\')
	if i < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	for ; i >= 0; i = strings.IndexByte(body, '\\') {
		out = append(out, body[:i]...)
		r := escapedRune(body[i:])
		out = utf8.AppendRune(out, r.value)
		body = body[i+r.size:]
	}
	return string(append(out, body...))
}

type escaped struct {
	value rune
	size  int // bytes of the escape; 0 when it is none
}

// escapedRune decodes the escape at the beginning of text. Half a surrogate pair
// is none.
func escapedRune(text string) escaped {
	if text[1] != 'u' {
		return escaped{value: plainEscapes[text[1]], size: 2}
	}
	first, ok := hexRune(text)
	if !ok || !utf16.IsSurrogate(first) {
		return escaped{value: first, size: sizeIf(ok, 6)}
	}
	second, ok := hexRune(text[6:])
	pair := utf16.DecodeRune(first, second)
	return escaped{value: pair, size: sizeIf(ok && pair != utf8.RuneError, 12)}
}

var plainEscapes = [256]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func sizeIf(ok bool, size int) int {
	if ok {
		return size
	}
	return 0
}

// hexRune reads \uXXXX.
func hexRune(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
