package shell

import "strings"

// plainText are the characters that no shell gives a meaning, beside letters and digits.
const plainText = " \t_-./:,@+%="

// reserved words begin something other than a simple command.
var reserved = set(`if then else elif fi for while until do done case esac in function select time coproc repeat
	foreach end nocorrect always typeset declare local export readonly let noglob integer float nameref`)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

// simple takes the short way for most commands: words of plain characters. ok is
// false where the grammar has to be asked.
func simple(text string) (words []Word, ok bool) {
	if len(text) > maxText {
		return nil, false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(plainText, c) < 0 {
			return nil, false
		}
	}
	words = make([]Word, 0, 1+strings.Count(text, " "))
	for rest := text; rest != ""; {
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			words = append(words, Word{Text: rest[:end]})
		}
		rest = rest[min(end+1, len(rest)):]
	}
	// What begins with = is another text to zsh; name=value is an assignment.
	ok = len(words) > 0 && !reserved[words[0].Text] && !strings.Contains(words[0].Text, "=")
	return words, ok && !strings.Contains(text, " =") && !strings.Contains(text, "\t=")
}

// simple makes the one part of a text that is its words.
func (r *reader) simple(words []Word) {
	r.parts = []Part{{Text: r.whole, Words: words, Dirs: here}}
	r.through(&r.parts[0], words, 0)
}

// onlyBash are marks that shells take for different things, or only one of them knows.
var onlyBash = []string{"|&", "&|", "&>", ";;", ";&", "&;"}

// undisputed recognizes the form of most compounds: plain words and quotes between
// the marks that all shells know. One reading of it is enough.
func undisputed(text string) bool {
	text = strings.ReplaceAll(text, "2>&1", "")
	for i := 0; i < len(text); i++ {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(plainText, c) < 0 && strings.IndexByte("'\"\\;&|*?\n", c) < 0 {
			return false
		}
	}
	for _, mark := range onlyBash {
		if strings.Contains(text, mark) {
			return false
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(" \t\n;&|'\"\\", c) }) {
		if reserved[word] || word[0] == '=' {
			return false
		}
	}
	return true
}
