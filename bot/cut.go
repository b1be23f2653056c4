package bot

import (
	"regexp"
	"unicode"
	"unicode/utf8"
)

// length is the characters of a text that a person sees.
func length(s string) int { return utf8.RuneCountInString(s) }

// cut keeps at most n characters of a text that Visible has made, and tells
// how many it left out. It does not part what is one sign to a reader: a
// letter and its accents, a joined emoji, a flag, an escape like U+202E.
func cut(s string, n int) (kept string, left int) {
	runes := []rune(s)
	if len(runes) <= n {
		return s, 0
	}
	n = max(n, 0)
	for n > 0 && sticks(runes[n-1], runes[n]) {
		n--
	}
	kept = string(runes[:n])
	if at := brokenEscape.FindStringIndex(kept); at != nil && wholeEscape.MatchString(string(runes[:min(n+6, len(runes))])[at[0]:]) {
		kept = kept[:at[0]]
	}
	return kept, len(runes) - length(kept)
}

var (
	brokenEscape = regexp.MustCompile(`U(\+[0-9A-F]{0,5})?$`)
	wholeEscape  = regexp.MustCompile(`^U\+[0-9A-F]{4}`)
)

// sticks tells whether after belongs to the sign that before is part of. Every
// second regional letter ends a flag; cutting before any but the first may
// shorten a row of flags by one, and never shows another flag.
func sticks(before, after rune) bool {
	return before == joiner || after == joiner ||
		unicode.In(after, unicode.M, unicode.Variation_Selector) ||
		(after >= 0x1F3FB && after <= 0x1F3FF) || // skin tones
		isRegional(before) && isRegional(after)
}

// Whole takes off the end of kept what belongs together with rest: a character
// without its accents, or half of a joined emoji, would show something else. It
// is for channels, which cut by their platform's own measure.
func Whole(kept, rest []rune) []rune {
	for len(kept) > 0 && len(rest) > 0 && sticks(kept[len(kept)-1], rest[0]) {
		rest = kept[len(kept)-1:]
		kept = kept[:len(kept)-1]
	}
	return kept
}

const joiner = '\u200d'

func isRegional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// oneLine is a text of somebody else as one visible line of at most n
// characters.
func oneLine(s string, n int) string {
	kept, left := cut(VisibleLine(s), n)
	if left > 0 {
		return kept + "…"
	}
	return kept
}
