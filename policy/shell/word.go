package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Kind tells how much of a word is known.
type Kind uint8

// The kinds of words.
const (
	// Plain: the word is its text.
	Plain Kind = iota
	// Globbed: the shell puts the names of files, or a directory, in its place; each
	// of them has the text's own characters and others for * and ?.
	Globbed
	// Several: any number of words, which need not look like the text.
	Several
	// Unknown: any number of words of any text.
	Unknown
)

// Word is one word of a command, without its quotes.
type Word struct {
	Text string
	Kind Kind
}

// ProgramName is the name by which rules against a program know it: without the
// directory, in lower case, without the endings of Windows.
func ProgramName(program string) string {
	name := strings.ToLower(program[strings.LastIndexAny(program, `/\`)+1:])
	switch ext := path.Ext(name); ext {
	case ".exe", ".cmd", ".bat", ".com":
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// word makes the word that a shell would; why says what cannot be known of it.
func (r *reader) word(w *syntax.Word) (made Word, why string) {
	var text strings.Builder
	for i, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			made.Kind = max(made.Kind, literal(&text, x.Value, i == 0))
		case *syntax.SglQuoted:
			text.WriteString(x.Value)
			if x.Dollar {
				why = unclearShells
			}
		case *syntax.DblQuoted:
			if reason := r.quoted(&text, x); reason != "" {
				why = reason
			}
		case *syntax.ExtGlob:
			made.Kind = max(made.Kind, Several)
		default:
			why = unclearExpansion
		}
	}
	if hasBraces(w) {
		made.Kind = max(made.Kind, Several)
	}
	made.Text = text.String()
	switch {
	case why != "":
		made.Kind = Unknown
	case runsInSubscript(made.Text):
		why = unclearMath
	}
	r.substitutions(w)
	return made, why
}

// hasBraces reports whether the shell makes several words of one with braces.
func hasBraces(w *syntax.Word) bool {
	split := &syntax.Word{Parts: w.Parts}
	if !syntax.SplitBraces(split) {
		return false
	}
	return slices.ContainsFunc(split.Parts, func(part syntax.WordPart) bool {
		_, ok := part.(*syntax.BraceExp)
		return ok
	})
}

// runsInSubscript recognizes text that test -v, printf -v and others evaluate as
// the element of an array.
func runsInSubscript(text string) bool {
	return strings.Contains(text, "[") && (strings.Contains(text, "$(") || strings.Contains(text, "`"))
}

func (r *reader) quoted(text *strings.Builder, q *syntax.DblQuoted) (why string) {
	if q.Dollar {
		why = unclearShells
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return unclearExpansion
		}
		unescapeQuoted(text, lit.Value)
	}
	return why
}

// unescapeQuoted takes off the backslashes that count within double quotes.
func unescapeQuoted(text *strings.Builder, raw string) {
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) && strings.IndexByte("$`\"\\", raw[i+1]) >= 0 {
			i++
		}
		text.WriteByte(raw[i])
	}
}

// literal takes off the backslashes of text without quotes, and looks for the
// characters that stand for file names.
func literal(text *strings.Builder, raw string, first bool) Kind {
	kind := Plain
	if first && raw != "" && raw[0] == '~' {
		kind = Globbed
	}
	if first && raw != "" && raw[0] == '=' {
		kind = Several // to zsh the path of a program
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '\\':
			if i++; i < len(raw) {
				text.WriteByte(raw[i])
			}
			continue
		case '*', '?':
			kind = max(kind, Globbed)
		case '[':
			if strings.IndexByte(raw[i:], ']') > 0 {
				kind = max(kind, Several)
			}
		}
		text.WriteByte(raw[i])
	}
	return kind
}

// substitutions reads the commands within a node's expansions: they run, too.
func (r *reader) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			r.inside(x.Stmts)
			return false
		case *syntax.ProcSubst:
			r.inside(x.Stmts)
			return false
		}
		return true
	})
}

// inside reads commands whose directory changes nothing outside.
func (r *reader) inside(stmts []*syntax.Stmt) { r.stmts(stmts, nil) }
