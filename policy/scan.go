package policy

import (
	"slices"
	"unicode/utf8"
)

// maxDepth is how deeply the arguments of a call may nest, the outermost object
// counted: deeper ones serve no tool and cost every walk over them.
const maxDepth = 64

// scanner checks one JSON text (RFC 8259) and is stricter than the grammar: an
// object key may occur once, since readers differ in which of two they take; a
// string must be valid Unicode, since readers differ in how they mend it.
type scanner struct {
	field string
	text  string
	pos   int
	depth int
	keys  []string // keys of the objects that are open, innermost last
}

// checkJSON refuses everything that is not exactly one JSON value.
func checkJSON(field, text string) error {
	if i := invalidUTF8(text); i >= 0 {
		return invalid(field, "is not valid UTF-8").at(i + 1)
	}
	s := scanner{field: field, text: text}
	if err := s.value(); err != nil {
		return err
	}
	if s.space(); s.pos < len(text) {
		return s.fail("something follows the value")
	}
	return nil
}

func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

func (s *scanner) fail(message string) error {
	return invalid(s.field, "%s", message).at(s.pos + 1)
}

func (s *scanner) space() { s.pos = skipSpace(s.text, s.pos) }

// peek is the next byte, or 0 at the end; a NUL byte begins nothing in JSON.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) value() error {
	s.space()
	switch c := s.peek(); {
	case c == '{' || c == '[':
		return s.nested(c)
	case c == '"':
		return s.str()
	case c == '-' || isDigit(c):
		return s.number()
	}
	return s.word()
}

func (s *scanner) nested(opening byte) (err error) {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nests too deeply")
	}
	s.pos++
	if opening == '{' {
		err = s.object()
	} else {
		err = s.array()
	}
	s.depth--
	return err
}

func (s *scanner) object() error {
	first := len(s.keys)
	if s.space(); s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if err := s.member(); err != nil {
			return err
		}
		if s.space(); s.peek() == '}' {
			break
		}
		if s.peek() != ',' {
			return s.fail("want , or } in an object")
		}
		s.pos++
	}
	if err := s.unique(s.keys[first:]); err != nil {
		return err
	}
	s.keys = s.keys[:first]
	s.pos++
	return nil
}

func (s *scanner) member() error {
	s.space()
	start := s.pos
	if s.peek() != '"' {
		return s.fail("want a key in an object")
	}
	if err := s.str(); err != nil {
		return err
	}
	s.keys = append(s.keys, unquote(s.text[start:s.pos]))
	if s.space(); s.peek() != ':' {
		return s.fail("want : after a key")
	}
	s.pos++
	return s.value()
}

func (s *scanner) unique(keys []string) error {
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return invalid(s.field, "an object has the key %q twice", clip(keys[i])).at(s.pos + 1)
		}
	}
	return nil
}

func (s *scanner) array() error {
	if s.space(); s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		if s.space(); s.peek() == ']' {
			s.pos++
			return nil
		}
		if s.peek() != ',' {
			return s.fail("want , or ] in an array")
		}
		s.pos++
	}
}
