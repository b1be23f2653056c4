package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Part is one simple command of a text, or what else of it needs to be judged:
// redirections and assignments without a command.
type Part struct {
	// Text is the part as it is written.
	Text string
	// Words are what a shell makes of it, the program first; quotes, assignments and
	// redirections are taken off. A part without a command has none.
	Words []Word
	// Unclear says why the part cannot be judged before it runs; "" when it can.
	Unclear string
	// Env names a variable that the part sets and that may change what programs do.
	Env string
	// Files are those that the shell opens for the part.
	Files []File
	// Dirs are the directories in which the part may run, relative to the first one
	// or absolute; nil where that is not known.
	Dirs []string
	// Runs are the commands that the part comes to: its own words first, then what its
	// programs run.
	Runs [][]Word
	// MayRun are names of programs that the part hands to a program of which nothing
	// is known, as [ProgramName] gives them.
	MayRun []string

	writes []string // names of files that its programs write
}

// File is what a redirection opens.
type File struct {
	Path  string
	Write bool
}

const (
	// maxText bounds what is read: nesting costs stack.
	maxText = 16 << 10
	// maxParts bounds the simple commands, those within texts for other shells included.
	maxParts = 400
	// maxDepth bounds texts within texts, and programs that run programs.
	maxDepth = 12
)

// The reasons for which a part cannot be judged.
const (
	unclearText      = "it is too long or has characters that belong in no command"
	unclearGrammar   = "it cannot be read as a command of a shell"
	unclearShells    = "shells do not read it alike"
	unclearExpansion = "an expansion in it is known only when it runs"
	unclearProgram   = "which program it runs is known only then"
	unclearOption    = "an option of its program is not known"
	unclearCode      = "its program is given code to run"
	unclearInput     = "its program reads what to run from its input"
	unclearShell     = "it changes how the shell reads or finds what follows"
	unclearEnv       = "it sets a variable that changes which programs run"
	unclearMath      = "arithmetic and subscripts can run commands"
	unclearRemote    = "what it comes to on another machine is not known"
	unclearWritten   = "it runs what it writes"
	unclearNesting   = "it is nested too deeply"
)

// Read takes a text apart. There is at least one part. It never fails: what cannot
// be read is a part that is unclear.
func Read(text string) []Part {
	if words, ok := simple(text); ok {
		r := &reader{whole: text}
		r.simple(words)
		return r.finish()
	}
	if strange(text) {
		return []Part{{Text: text, Unclear: unclearText}}
	}
	return readAlike(text, 0)
}

// readAlike wants one reading of all shells. What one of them finds beyond the
// others is kept, so that rules against it are named.
func readAlike(text string, depth int) []Part {
	var all []Part
	if undisputed(text) {
		return readAs(bash, text, depth)
	}
	for _, lang := range [...]syntax.LangVariant{bash, syntax.LangPOSIX, syntax.LangZsh} {
		parts := readAs(lang, text, depth)
		if all != nil && !alike(all, parts) {
			all = append(all, parts...)
			return append(all, Part{Text: text, Unclear: unclearShells})
		}
		all = parts
	}
	return all
}

func readAs(lang syntax.LangVariant, text string, depth int) []Part {
	r := &reader{whole: text, lang: lang, depth: depth}
	r.parse()
	return r.finish()
}

func strange(text string) bool {
	return len(text) > maxText || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool {
		return c != '\n' && c != '\t' && unicode.IsControl(c)
	})
}

func alike(a, b []Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].alike(&b[i]) {
			return false
		}
	}
	return true
}

func (p *Part) alike(other *Part) bool {
	return p.Unclear == other.Unclear && p.Env == other.Env && equal(p.Words, other.Words) &&
		equal(p.Files, other.Files) && len(p.Runs) == len(other.Runs) && len(p.MayRun) == len(other.MayRun)
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

const bash = syntax.LangBash

// reader collects the parts of one text.
type reader struct {
	whole string
	lang  syntax.LangVariant
	depth int
	parts []Part
	lost  bool // the directories of the parts are not known
}

func (r *reader) parse() {
	file, err := syntax.NewParser(syntax.Variant(r.lang)).Parse(strings.NewReader(r.whole), "")
	if err != nil {
		r.unclear(r.whole, unclearGrammar)
		return
	}
	r.stmts(file.Stmts, here)
}

func (r *reader) add(p Part) *Part {
	if len(r.parts) >= maxParts {
		r.parts[len(r.parts)-1].Unclear = unclearNesting
		return &Part{}
	}
	r.parts = append(r.parts, p)
	return &r.parts[len(r.parts)-1]
}

func (r *reader) unclear(text, why string) { r.add(Part{Text: text, Unclear: why}) }

// finish makes sure that there is a part, and gives up directories that are lost.
func (r *reader) finish() []Part {
	if len(r.parts) == 0 {
		r.parts = []Part{{Text: r.whole, Dirs: here}}
	}
	written := r.written()
	for i := range r.parts {
		p := &r.parts[i]
		if r.lost {
			p.Dirs = nil
		}
		if p.runsWhatIs(written) {
			p.blame(unclearWritten)
		}
	}
	return r.parts
}

// written are the names of the files that the parts write, as far as they are named.
func (r *reader) written() map[string]bool {
	var names map[string]bool
	note := func(name string) {
		if names == nil {
			names = map[string]bool{}
		}
		names[name] = true
	}
	for i := range r.parts {
		for _, f := range r.parts[i].Files {
			if f.Write {
				note(ProgramName(f.Path))
			}
		}
		for _, name := range r.parts[i].writes {
			note(name)
		}
	}
	return names
}

// runsWhatIs reports whether a program of the part is, or is given, one of the files.
func (p *Part) runsWhatIs(written map[string]bool) bool {
	if len(written) == 0 {
		return false
	}
	for _, run := range p.Runs {
		if name := ProgramName(run[0].Text); written[name] || shells[baseOf(name)] || interpreters[baseOf(name)] {
			for _, w := range run {
				if written[ProgramName(w.Text)] {
					return true
				}
			}
		}
	}
	return false
}

// source is the text of a node.
func (r *reader) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if s, ok := n.(*syntax.Stmt); ok && s.Semicolon.IsValid() {
		to = s.Semicolon.Offset()
	}
	if from > to || to > uint(len(r.whole)) {
		return r.whole
	}
	return strings.TrimSpace(r.whole[from:to])
}
