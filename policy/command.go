package policy

import "strings"

// shellControl are the characters with which one command line becomes several
// commands or reaches files. A glob over words says nothing about such text.
const shellControl = ";&|$()<>`\n\r\x00"

func hasShellControl(command string) bool { return strings.ContainsAny(command, shellControl) }

// command is the pattern of an exec row.
type command struct {
	kind  commandKind
	text  string        // the exact command
	words []wordPattern // of a glob
}

type commandKind uint8

// From the most specific to the least.
const (
	exactCommand commandKind = iota
	globCommand
	anyCommand
)

// wordPattern is one word of a glob.
type wordPattern struct {
	any     bool // a * alone: any words, also none
	pattern starMatcher
}

// parseCommand reads the collapsed text of a row. The row of an approval is about
// the very command that was shown, whatever characters it has.
func parseCommand(text string, literal bool) command {
	switch {
	case literal || !strings.Contains(text, "*"):
		return command{text: text}
	case text == "*":
		return command{kind: anyCommand}
	}
	c := command{kind: globCommand, text: text}
	for word := range strings.SplitSeq(text, " ") {
		c.words = append(c.words, wordPattern{any: word == "*", pattern: parseStars(word)})
	}
	return c
}

// firstWord is the text that a command's first word must have; "" if the glob
// leaves it open.
func (c *command) firstWord() string {
	if first := c.words[0].pattern; len(first.parts) == 1 {
		return first.parts[0]
	}
	return ""
}

// match judges a collapsed command. A glob cannot judge text with shell control
// characters.
func (c *command) match(text string) verdict {
	switch {
	case c.kind == anyCommand:
		return matches
	case c.kind == exactCommand:
		return verdictOf(text == c.text)
	case hasShellControl(text):
		return unjudged
	}
	return verdictOf(c.matchWords(text))
}

// matchWords lets each * that stands alone take as few words as will do.
func (c *command) matchWords(text string) bool {
	next, star, again := 0, -1, ""
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		switch {
		case next < len(c.words) && c.words[next].any:
			star, again = next, text
			next++
		case next < len(c.words) && c.words[next].pattern.matches(word):
			text = rest
			next++
		case star >= 0:
			_, again, _ = strings.Cut(again, " ")
			text, next = again, star+1
		default:
			return false
		}
	}
	for next < len(c.words) && c.words[next].any {
		next++
	}
	return next == len(c.words)
}
