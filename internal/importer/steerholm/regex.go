package steerholm

import (
	"errors"
	"regexp"
	"strings"
)

// rest is what a value may have behind the part that Steerholm looks at.
const rest = `(?s:.*)`

// regex writes a Python expression, matched at the beginning of a value, as one
// in RE2 syntax for the whole value.
func regex(pattern string) (text, note string, err error) {
	if err := checkDialect(pattern); err != nil {
		return "", "", err
	}
	text, end := pattern, ending(pattern)
	if end == `\Z` {
		text = strings.TrimSuffix(pattern, `\Z`) + `\z`
	}
	// By itself, before anything is written round it: )|( would step out.
	if _, err := regexp.Compile(text); err != nil {
		return "", "", errors.New("re:" + pattern + " is not in the syntax that Holm reads (RE2)")
	}
	switch end {
	case `.*`:
		note = "re:" + pattern + " no longer admits a further line behind the first"
	case "":
		text = "(?:" + pattern + ")" + rest
		note = "re:" + pattern + " looked at the beginning only; its meaning is kept as re:" + text
	}
	return text, note, nil
}

// ending is how an expression ends, when that says what the end of the value must
// be: $, \Z or .*; otherwise empty. One with alternatives may end in several ways.
func ending(pattern string) string {
	if strings.Contains(pattern, "|") {
		return ""
	}
	for _, end := range []string{`\Z`, `$`, `.*`} {
		before, ok := strings.CutSuffix(pattern, end)
		if escapes := len(before) - len(strings.TrimRight(before, `\`)); ok && escapes%2 == 0 {
			return end
		}
	}
	return ""
}

var errDialect = errors.New("its expression is read differently by Python and RE2")

// checkDialect refuses what both languages accept with different meanings, or
// only RE2 accepts: Steerholm then refused every call.
func checkDialect(pattern string) error {
	for i := 0; i < len(pattern); i++ {
		left := pattern[i:]
		switch {
		case left[0] == '[':
			size, err := checkClass(left)
			if err != nil {
				return err
			}
			i += size - 1
		case left[0] == '\\' && len(left) > 1:
			if strings.IndexByte(ownEscapes+widerEscapes, left[1]) >= 0 || strings.IndexByte(`AZ`, left[1]) >= 0 && repeats(left[2:]) {
				return errDialect
			}
			i++
		case (left[0] == '^' || left[0] == '$') && repeats(left[1:]):
			return errDialect
		case strings.HasPrefix(left, "{,"):
			return errDialect
		case strings.HasPrefix(left, "(?") && !knownGroup(left[2:], i == 0):
			return errDialect
		}
	}
	return nil
}

// repeats tells whether text begins with a repetition. Python refuses one behind
// a place such as ^.
func repeats(text string) bool {
	return text != "" && strings.IndexByte("*+?{", text[0]) >= 0
}

const (
	// ownEscapes are RE2's alone.
	ownEscapes = `pPQECz`
	// widerEscapes leave out more in Python, which knows all of Unicode; RE2 knows
	// ASCII. In a class that is negated the same holds for narrowEscapes.
	widerEscapes  = `DWSBb`
	narrowEscapes = `dws`
)

// checkClass checks a class of characters and gives its length; one that is never
// closed reaches to the end and is refused by whoever compiles it.
func checkClass(text string) (int, error) {
	refused, i := ownEscapes+widerEscapes, 1
	if strings.HasPrefix(text, "[^") {
		refused, i = refused+narrowEscapes, 2
	}
	for first := true; i < len(text); i, first = i+1, false {
		switch {
		case text[i] == ']' && !first:
			return i + 1, nil
		case strings.HasPrefix(text[i:], "[:"):
			return 0, errDialect
		case text[i] == '\\' && i+1 < len(text):
			if i++; strings.IndexByte(refused, text[i]) >= 0 {
				return 0, errDialect
			}
		}
	}
	return len(text), nil
}

var (
	sharedGroup = regexp.MustCompile(`^(?::|P<|[ims]+:)`)
	sharedFlags = regexp.MustCompile(`^[ims]+\)`)
)

// knownGroup tells whether what follows (? means the same in both languages.
// Python takes flags for the whole expression at its beginning only.
func knownGroup(left string, first bool) bool {
	return sharedGroup.MatchString(left) || first && sharedFlags.MatchString(left)
}
