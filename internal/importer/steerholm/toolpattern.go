package steerholm

import (
	"errors"
	"strings"
)

// Tool patterns are Python's fnmatch: * any text, ? one character, [...] a class.
// In the key of a row only * is special.

func checkToolPattern(pattern string) error {
	if strings.ContainsAny(pattern, "?[") {
		return errors.New("a tool's key in Holm has no wildcard but *: name its tools one by one")
	}
	if pattern == "" {
		return errors.New("it names no tool")
	}
	return nil
}

// tokens of a pattern: one for each character and each class, which stands for ?.
func tokens(pattern string) []string {
	var list []string
	for len(pattern) > 0 {
		size := 1
		for size < len(pattern) && pattern[size]&0xC0 == 0x80 { // the rest of a character
			size++
		}
		token := pattern[:size]
		if end := classEnd(pattern); end > 0 {
			token, size = "?", end
		}
		list, pattern = append(list, token), pattern[size:]
	}
	return list
}

// classEnd is the length of the class at the start of text, 0 when there is none:
// in fnmatch a ] right behind the [ or [! belongs to the class, and a [ that is
// never closed is itself.
func classEnd(text string) int {
	if text[0] != '[' {
		return 0
	}
	start := 1
	if strings.HasPrefix(text[start:], "!") {
		start++
	}
	if strings.HasPrefix(text[start:], "]") {
		start++
	}
	end := strings.IndexByte(text[min(start, len(text)):], ']')
	if end < 0 {
		return 0
	}
	return start + end + 1
}

// overlap tells whether some tool fits both patterns. It may say yes where classes
// keep them apart, or letters' case, which Steerholm does not tell on Windows.
func overlap(a, b string) bool {
	return meet(tokens(a), tokens(b), func(x, y string) bool { return strings.EqualFold(x, y) || x == "?" || y == "?" }, true)
}

// covers tells whether every tool that fits b fits a. It may say no where classes
// would make it a yes.
func covers(a, b string) bool {
	if a == b {
		return true
	}
	if strings.Contains(a, "[") {
		return false
	}
	return meet(tokens(a), tokens(b), func(x, y string) bool { return y != "*" && (x == y || x == "?") }, false)
}

// meet compares two patterns from the left. A * of a stands for any tokens of b,
// and with both for the other way round as well.
func meet(a, b []string, same func(x, y string) bool, both bool) bool {
	reach := make([]bool, len(b)+1) // reach[j]: a so far meets b[:j]
	reach[0] = true
	for j := 1; j <= len(b); j++ {
		reach[j] = reach[j-1] && both && b[j-1] == "*"
	}
	for _, x := range a {
		next := make([]bool, len(b)+1)
		next[0] = reach[0] && x == "*"
		for j := 1; j <= len(b); j++ {
			y := b[j-1]
			next[j] = x == "*" && (reach[j] || next[j-1]) ||
				both && y == "*" && (reach[j] || next[j-1]) ||
				x != "*" && reach[j-1] && same(x, y)
		}
		reach = next
	}
	return reach[len(b)]
}
