package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// commandText writes arguments as the words of one shell command, each so that
// no two lists of arguments have the same text: also not after blanks are
// collapsed, as policy does with commands.
func commandText(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = shellWord(arg)
	}
	return strings.Join(words, " ")
}

// plainWord needs no quotes, anywhere in a command.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$`)

func shellWord(arg string) string {
	switch {
	case plainWord.MatchString(arg):
		return arg
	case readable(arg):
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return ansiWord(arg)
}

// readable tells whether a text shows as what it is between quotes.
func readable(arg string) bool {
	return utf8.ValidString(arg) && !strings.Contains(arg, "  ") &&
		strings.IndexFunc(arg, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) < 0
}

// ansiWord writes every byte that is no plain letter as its number.
func ansiWord(arg string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(arg) {
		if c := arg[i]; c > ' ' && c < 0x7f && c != '\'' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + "'"
}
