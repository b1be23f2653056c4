package shell

import "strings"

// through notes a command that the part comes to, and looks for those that it runs
// in turn.
func (r *reader) through(p *Part, words []Word, depth int) {
	if len(words) == 0 {
		return
	}
	p.Runs = append(p.Runs, words)
	if depth > maxDepth || len(p.Runs) > maxParts {
		p.blame(unclearNesting)
		return
	}
	program := words[0]
	if program.Kind != Plain || strings.ContainsAny(program.Text, "^%") {
		p.blame(unclearProgram)
		return
	}
	name := ProgramName(program.Text)
	if w, ok := wrappers[name]; ok {
		r.wrapped(p, w, words, depth)
		return
	}
	if special := specialOf(baseOf(name)); special != nil {
		special(r, p, words, depth)
		return
	}
	if !plainPrograms[name] {
		r.mayRun(p, words[1:], depth)
	}
}

// baseOf takes the version off the name of an interpreter: python3.12, bash-5.
func baseOf(name string) string {
	if i := strings.IndexAny(name, "0123456789"); i > 0 {
		if base := strings.TrimRight(name[:i], "-."); interpreters[base] || shells[base] {
			return base
		}
	}
	return name
}

// known reports whether this package gives a program of the name a meaning.
func known(name string) bool {
	_, wrapper := wrappers[name]
	return wrapper || specialOf(name) != nil || plainPrograms[name] || movers[name] || reserved[name]
}

// wrapped takes off a program that runs its arguments.
func (r *reader) wrapped(p *Part, w wrapper, words []Word, depth int) {
	rest, ok := w.options.skip(words[1:])
	if !ok {
		p.blame(unclearOption)
		r.mayRun(p, words[1:], depth)
		return
	}
	if w.assigns {
		rest = r.assigned(p, rest)
	}
	if len(rest) < w.before {
		return
	}
	for _, skipped := range rest[:w.before] {
		if skipped.Kind != Plain {
			p.blame(unclearExpansion)
		}
	}
	rest = rest[w.before:]
	switch {
	case len(rest) > 0 && w.text:
		r.text(p, join(rest), depth)
	case len(rest) > 0:
		r.through(p, rest, depth+1)
	case w.shell:
		p.blame(unclearInput)
	}
}

// assigned takes off the words that set variables, as env and sudo do.
func (r *reader) assigned(p *Part, words []Word) []Word {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0].Text, "=")
		if !ok {
			break
		}
		r.variable(p, name, Word{Text: value, Kind: words[0].Kind})
		words = words[1:]
	}
	return words
}

// join is the text that a program makes of words for a shell.
func join(words []Word) Word {
	texts := make([]string, len(words))
	kind := Plain
	for i, w := range words {
		texts[i], kind = w.Text, max(kind, w.Kind)
	}
	return Word{Text: strings.Join(texts, " "), Kind: kind}
}

// text reads what a further shell runs for the part. The words of what is within
// count for rules against it alone; a row that allows the part names its own words.
func (r *reader) text(p *Part, w Word, depth int) {
	if w.Kind != Plain {
		p.blame(unclearExpansion)
	}
	inner := r.nested(w.Text, depth)
	for i := range inner {
		part := &inner[i]
		p.blame(part.Unclear)
		p.Env = first(p.Env, part.Env)
		p.Files = append(p.Files, part.Files...)
		p.MayRun = append(p.MayRun, part.MayRun...)
		p.Runs = append(p.Runs, part.Runs...)
		p.writes = append(p.writes, part.writes...)
		r.lost = r.lost || part.moves()
	}
	if len(p.Runs) > maxParts {
		p.Runs = p.Runs[:maxParts]
		p.blame(unclearNesting)
	}
}

func (r *reader) nested(text string, depth int) []Part {
	if depth += r.depth + 1; depth > maxDepth || strange(text) {
		return []Part{{Text: text, Unclear: unclearText}}
	}
	return readAlike(text, depth)
}

// mayRun notes the programs that words of an unknown program's name: themselves,
// what follows a = in them, and the commands of those that look like a text for a
// shell.
func (r *reader) mayRun(p *Part, words []Word, depth int) {
	if p.MayRun == nil {
		p.MayRun = make([]string, 0, len(words))
	}
	for _, w := range words {
		r.mayName(p, w.Text, depth)
		if option, value, ok := strings.Cut(w.Text, "="); ok && !strings.ContainsAny(option, " \t\n") {
			r.mayName(p, value, depth)
		}
	}
}

func (r *reader) mayName(p *Part, text string, depth int) {
	text = strings.TrimLeft(text, "!|")
	if !strings.ContainsAny(text, " \t\n;|&") {
		if text != "" && text[0] != '-' {
			p.MayRun = append(p.MayRun, ProgramName(text))
		}
		return
	}
	if depth += r.depth + 1; depth > maxDepth || len(p.MayRun) > maxParts || strange(text) {
		return
	}
	for _, part := range readAs(bash, text, depth) {
		for _, run := range part.Runs {
			p.MayRun = append(p.MayRun, ProgramName(run[0].Text))
		}
		p.MayRun = append(p.MayRun, part.MayRun...)
	}
}
