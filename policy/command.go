package policy

import (
	"slices"
	"strings"

	"holm/policy/shell"
)

// command is the pattern of an exec row.
type command struct {
	kind  commandKind
	text  string        // as it is stored
	words []wordPattern // nil where the text is not one simple command
}

type commandKind uint8

// From the most specific to the least.
const (
	exactCommand commandKind = iota
	globCommand
	anyCommand
)

// wordPattern is one word of a command.
type wordPattern struct {
	any     bool // a * alone: any words, also none
	pattern starMatcher
}

// parseCommand reads the collapsed text of a row. The row of an approval is about
// the very command that was shown, whatever characters it has.
func parseCommand(text string, literal bool) command {
	c := command{text: text}
	switch {
	case literal:
		return c
	case text == "*":
		return command{kind: anyCommand, text: text}
	case strings.Contains(text, "*"):
		c.kind = globCommand
	}
	words, ok := shell.Pattern(text)
	if !ok {
		return c
	}
	for _, parts := range words {
		alone := len(parts) == 2 && parts[0] == "" && parts[1] == ""
		c.words = append(c.words, wordPattern{any: alone, pattern: starMatcher{parts: parts}})
	}
	return c
}

// literal is the text that a word must have; "" if the pattern leaves it open.
func (c *command) literal(i int) string {
	if i < len(c.words) && len(c.words[i].pattern.parts) == 1 {
		return c.words[i].pattern.parts[0]
	}
	return ""
}

// covers reports whether an allow row with this pattern is about the part: its
// words, as a shell makes them, and nothing beside them.
func (c *command) covers(p *shell.Part) bool {
	return coverable(p) && len(c.words) > 0 && fits(c.words, p.Words)
}

// coverable is false for what no pattern of words describes: what is not known
// before it runs, files that the shell opens, and variables that change programs.
func coverable(p *shell.Part) bool {
	return p.Unclear == "" && p.Env == "" && len(p.Files) == 0 && len(p.Words) > 0
}

// concerns reports whether a rule against a call is about the part: about its
// words, or those of a command that its programs run or may run.
func (c *command) concerns(p *shell.Part) bool {
	if len(c.words) == 0 {
		return false
	}
	for _, run := range p.Runs {
		if c.meets(run) {
			return true
		}
	}
	return c.mayRunIn(p)
}

// mayRunIn reports whether the part hands the pattern's program to one that is not known.
func (c *command) mayRunIn(p *shell.Part) bool {
	program := c.literal(0)
	return program != "" && slices.Contains(p.MayRun, shell.ProgramName(program))
}

// meets compares the program by its name, and looks past options before a further
// word that the pattern wants.
func (c *command) meets(run []shell.Word) bool {
	first, program := &c.words[0], run[0].Text
	if own := c.literal(0); own != "" {
		if shell.ProgramName(own) != shell.ProgramName(program) {
			return false
		}
	} else if first.any {
		return mayFit(c.words, run)
	} else if !first.pattern.matches(program) && !first.pattern.matches(shell.ProgramName(program)) {
		return false
	}
	return mayFit(c.words[1:], run[1:]) || c.meetsBehindOptions(run)
}

// meetsBehindOptions finds "git -C x push" for "git push *": options of a program
// stand before its own commands, each with a value at most.
func (c *command) meetsBehindOptions(run []shell.Word) bool {
	if len(c.words) < 2 || c.words[1].any || strings.HasPrefix(c.words[1].pattern.parts[0], "-") {
		return false
	}
	valued := true
	for i, w := range run[1:] {
		option := strings.HasPrefix(w.Text, "-")
		if i > 0 && !option && c.words[1].matches(w) && mayFit(c.words[1:], run[1+i:]) {
			return true
		}
		if !option && valued {
			return false
		}
		valued = !option
	}
	return false
}

func (w *wordPattern) matches(word shell.Word) bool {
	return word.Kind != shell.Plain || w.pattern.matches(word.Text)
}

// spans reports whether the exact command of another pattern is one of this one's.
func (c *command) spans(exact *command) bool {
	words := make([]shell.Word, len(exact.words))
	for i := range words {
		words[i].Text = exact.literal(i)
	}
	return len(c.words) > 0 && len(words) > 0 && fits(c.words, words)
}
