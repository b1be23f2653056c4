package bot

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks one character may carry before further
// ones are spelled out: living scripts need at most four, and taller stacks are
// used to paint over neighbouring lines.
const maxMarks = 4

// Visible returns s with every character that a reader could not see, or that
// reorders its neighbours, in the form U+202E: control and format characters,
// bidi marks, zero-width characters, tags, blank letters, odd spaces, variation
// selectors, private and unassigned code points. Newlines, tabs and plain
// emoji, also joined ones such as a family, stay as they are. Bytes that are
// not UTF-8 become U+FFFD. Calling it twice changes nothing.
func Visible(s string) string {
	if isPlain(s) {
		return s
	}
	runes := []rune(s)
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for i, r := range runes {
		marks = countMarks(marks, r)
		if marks <= maxMarks && (showsItself(r) || belongsToEmoji(runes, i)) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "U+%04X", r)
	}
	return b.String()
}

// VisibleLine is Visible for a text that must stay on one line: newlines are
// shown as ↵, so that a value cannot imitate a line of its own.
func VisibleLine(s string) string {
	return strings.ReplaceAll(Visible(s), "\n", "↵")
}

// isPlain is the common case: printable ASCII, newlines and tabs.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

func countMarks(before int, r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return before + 1
	}
	return 0
}

// showsItself reports whether r is drawn, wherever it stands. Default ignorable
// code points are named by the Unicode property of that name: letters and marks
// that renderers leave blank although their category looks harmless.
func showsItself(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r == utf8.RuneError:
		return true
	case r == '\u2800': // braille pattern blank: a symbol without a dot
		return false
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return false
	}
	return unicode.IsPrint(r)
}

// belongsToEmoji reports whether the joiner or selector at i is part of an
// emoji as keyboards type it: one presentation selector right after its base, a
// joiner between two emoji. Anything more is how text is hidden in emoji.
func belongsToEmoji(runes []rune, i int) bool {
	switch runes[i] {
	case '\ufe0e', '\ufe0f':
		return isEmoji(at(runes, i-1)) || isKeycap(runes, i)
	case '\u200d':
		before := at(runes, i-1)
		if before == '\ufe0f' {
			before = at(runes, i-2)
		}
		return isEmoji(before) && isEmoji(at(runes, i+1))
	}
	return false
}

func isKeycap(runes []rune, selector int) bool {
	return strings.ContainsRune("0123456789#*", at(runes, selector-1)) && at(runes, selector+1) == '\u20e3'
}

// isEmoji is the part of Extended_Pictographic that takes selectors or joiners,
// with the skin tones.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x1F000 && r <= 0x1FAFF, r >= 0x2190 && r <= 0x2BFF:
		return unicode.IsPrint(r)
	}
	return strings.ContainsRune("©®‼⁉™ℹ〰〽㊗㊙", r)
}

// at is the rune at i, or a NUL outside of the text.
func at(runes []rune, i int) rune {
	if i < 0 || i >= len(runes) {
		return 0
	}
	return runes[i]
}
