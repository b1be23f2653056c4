package policy

import "holm/policy/shell"

// fits reports whether the words are those of the pattern. A * of the pattern that
// stands alone takes any words. A word of which only a part is known is taken as it
// is written, one that may be several words only by a * alone.
func fits(pattern []wordPattern, words []shell.Word) bool { return fit(pattern, words, false) }

// mayFit is what fits is for rules against a call: a word that is not known may be
// any words.
func mayFit(pattern []wordPattern, words []shell.Word) bool { return fit(pattern, words, true) }

// fit keeps all places in the pattern at which the words so far may have ended.
func fit(pattern []wordPattern, words []shell.Word, against bool) bool {
	var room [2][24]bool
	at, next := room[0][:], room[1][:]
	if len(pattern) >= len(at) {
		at, next = make([]bool, len(pattern)+1), make([]bool, len(pattern)+1)
	}
	at, next = at[:len(pattern)+1], next[:len(pattern)+1]
	at[0] = true
	pass(pattern, at)
	for _, w := range words {
		clear(next)
		for i, here := range at {
			if here {
				advance(pattern, next, i, w, against)
			}
		}
		pass(pattern, next)
		at, next = next, at
	}
	return at[len(pattern)]
}

// pass goes on over stars, which take no words as well.
func pass(pattern []wordPattern, at []bool) {
	for i := range pattern {
		if at[i] && pattern[i].any {
			at[i+1] = true
		}
	}
}

func advance(pattern []wordPattern, next []bool, i int, w shell.Word, against bool) {
	switch {
	case against && w.Kind != shell.Plain:
		for j := i; j < len(next); j++ {
			next[j] = true
		}
	case i == len(pattern):
	case pattern[i].any:
		next[i] = true
	case w.Kind <= shell.Globbed && pattern[i].pattern.matches(w.Text):
		next[i+1] = true
	}
}
