package policy

import "strings"

func (s *scanner) word() error {
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[s.pos:], word) {
			s.pos += len(word)
			return nil
		}
	}
	return s.fail("want a value")
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("want a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("want a digit after the point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		return s.exponent()
	}
	return nil
}

func (s *scanner) exponent() error {
	s.pos++
	if c := s.peek(); c == '+' || c == '-' {
		s.pos++
	}
	if !s.digits() {
		return s.fail("want a digit in the exponent")
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for isDigit(s.peek()) {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) str() error {
	for s.pos++; ; s.pos++ {
		switch c := s.peek(); {
		case c == '"':
			s.pos++
			return nil
		case c < ' ':
			return s.fail("a string is not closed or has a control character")
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
}

// escape checks what follows a backslash and stops on its last byte.
func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		return s.unicode()
	}
	return s.fail("unknown escape in a string")
}

func (s *scanner) unicode() error {
	size := escapedRune(s.text[s.pos-1:]).size
	if size == 0 {
		return s.fail("want four hexadecimal digits of a character, or two such for a pair")
	}
	s.pos += size - 2
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
