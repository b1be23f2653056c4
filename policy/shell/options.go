package shell

import "strings"

// options say how a program takes those before its other arguments. One that is
// not among them cannot be judged: it may take the next word, or a command.
type options struct {
	flags  string // letters without a value
	values string // letters with one, in the same word or the next
	long   map[string]bool
	// longValues are long options with a value behind = or in the next word.
	longValues map[string]bool
}

// skip returns the words after the options; false if one is not known.
func (o *options) skip(words []Word) ([]Word, bool) {
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case words[0].Kind != Plain:
			return words, text == "" || text[0] != '-'
		case text == "--":
			return words[1:], true
		case strings.HasPrefix(text, "--"):
			n := o.longSize(text[2:])
			if n == 0 || n > len(words) {
				return nil, false
			}
			words = words[n:]
		case len(text) > 1 && text[0] == '-':
			n := o.shortSize(text[1:])
			if n == 0 || n > len(words) {
				return nil, false
			}
			words = words[n:]
		default:
			return words, true
		}
	}
	return words, true
}

// longSize is the number of words that a long option takes; 0 if it is not known.
func (o *options) longSize(text string) int {
	name, _, valued := strings.Cut(text, "=")
	switch {
	case valued && (o.long[name+"="] || o.longValues[name]):
		return 1
	case valued:
		return 0
	case o.long[name]:
		return 1
	case o.longValues[name]:
		return 2
	}
	return 0
}

func (o *options) shortSize(letters string) int {
	for i := range len(letters) {
		switch {
		case strings.IndexByte(o.values, letters[i]) >= 0:
			if i+1 < len(letters) {
				return 1
			}
			return 2
		case strings.IndexByte(o.flags, letters[i]) < 0:
			return 0
		}
	}
	return 1
}
