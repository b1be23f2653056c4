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
	p := Part{Text: r.whole, Words: words, Dirs: dirs{""}}
	r.through(&p, words, 0)
	r.add(p)
}
