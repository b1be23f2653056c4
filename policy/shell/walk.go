package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts reads commands that run one after the other, and returns where the shell
// may be after them.
func (r *reader) stmts(list []*syntax.Stmt, at dirs) dirs {
	for _, s := range list {
		done, failed := r.stmt(s, at)
		at = done.or(failed)
	}
	return at
}

// stmt returns where the shell may be when the command succeeded, and when not.
func (r *reader) stmt(s *syntax.Stmt, at dirs) (done, failed dirs) {
	opened, why := r.redirections(s)
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		done, failed = r.call(s, call, opened, why, at), at
	} else {
		if len(opened) > 0 || why != "" {
			r.add(Part{Text: r.source(s), Files: opened, Unclear: why, Dirs: at})
		}
		done, failed = r.command(s, at)
	}
	switch {
	case s.Background || s.Coprocess || s.Disown:
		return at, at
	case s.Negated:
		return failed, done
	}
	return done, failed
}

// command reads everything but a simple command.
func (r *reader) command(s *syntax.Stmt, at dirs) (done, failed dirs) {
	switch x := s.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		return r.binary(x, at)
	case *syntax.Block:
		done = r.stmts(x.Stmts, at)
		return done, done
	case *syntax.Subshell:
		r.stmts(x.Stmts, at)
	case *syntax.TimeClause:
		r.timed(s, x, at)
	case *syntax.TestClause:
		r.test(s, x, at)
	case *syntax.DeclClause:
		r.declaration(s, x, at)
	case *syntax.FuncDecl:
		r.function(s, x)
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		r.compound(s)
	default:
		r.unclear(r.source(s), unclearMath)
		r.substitutions(x)
	}
	return at, at
}

func (r *reader) binary(x *syntax.BinaryCmd, at dirs) (done, failed dirs) {
	first, not := r.stmt(x.X, at)
	switch x.Op {
	case syntax.AndStmt:
		done, failed = r.stmt(x.Y, first)
		return done, not.or(failed)
	case syntax.OrStmt:
		done, failed = r.stmt(x.Y, not)
		return first.or(done), failed
	}
	// In zsh the last command of a pipeline runs in the shell itself.
	last, wrong := r.stmt(x.Y, at)
	after := at.or(last).or(wrong)
	return after, after
}

// compound reads what runs any number of times, so that no directory is known.
func (r *reader) compound(s *syntax.Stmt) {
	before := len(r.parts)
	switch x := s.Cmd.(type) {
	case *syntax.IfClause:
		for ; x != nil; x = x.Else {
			r.stmts(x.Cond, nil)
			r.stmts(x.Then, nil)
		}
	case *syntax.WhileClause:
		r.stmts(x.Cond, nil)
		r.stmts(x.Do, nil)
	case *syntax.ForClause:
		r.loop(s, x)
	case *syntax.CaseClause:
		r.words(s, append([]*syntax.Word{x.Word}, patternsOf(x)...))
		for _, item := range x.Items {
			r.stmts(item.Stmts, nil)
		}
	}
	r.lost = r.lost || anyMoves(r.parts[before:])
}

func patternsOf(x *syntax.CaseClause) (all []*syntax.Word) {
	for _, item := range x.Items {
		all = append(all, item.Patterns...)
	}
	return all
}

func (r *reader) loop(s *syntax.Stmt, x *syntax.ForClause) {
	switch loop := x.Loop.(type) {
	case *syntax.WordIter:
		r.words(s, loop.Items)
		if loop.Name != nil {
			r.set(s, loop.Name.Value, Word{Kind: Unknown})
		}
	default:
		r.unclear(r.source(s), unclearMath)
		r.substitutions(x.Loop)
	}
	r.stmts(x.Do, nil)
}

// words reads words that are no command's.
func (r *reader) words(s *syntax.Stmt, list []*syntax.Word) {
	for _, w := range list {
		if _, why := r.word(w); why != "" {
			r.unclear(r.source(s), why)
		}
	}
}

// function reads the body where it is declared: it may run then or never. One that
// takes the name of a command which this package knows takes its meaning along.
func (r *reader) function(s *syntax.Stmt, x *syntax.FuncDecl) {
	names := x.Names
	if x.Name != nil {
		names = append(names, x.Name)
	}
	for _, name := range names {
		if known(name.Value) {
			r.unclear(r.source(s), unclearShell)
		}
	}
	before := len(r.parts)
	r.stmt(x.Body, nil)
	r.lost = r.lost || anyMoves(r.parts[before:])
}

// timed reads the keyword time like the program of that name.
func (r *reader) timed(s *syntax.Stmt, x *syntax.TimeClause, at dirs) {
	words := []Word{{Text: "time"}}
	if x.PosixFormat {
		words = append(words, Word{Text: "-p"})
	}
	if x.Stmt == nil {
		r.run(s, words, at)
		return
	}
	call, ok := x.Stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(x.Stmt.Redirs) > 0 || x.Stmt.Negated {
		r.stmt(x.Stmt, nil)
		r.lost = true
		return
	}
	why := ""
	for _, w := range call.Args {
		made, reason := r.word(w)
		words = append(words, made)
		if reason != "" {
			why = reason
		}
	}
	p := r.run(s, words, at)
	if why != "" {
		p.Unclear = why
	}
}

// test reads [[ like a command, which it is to some shells.
func (r *reader) test(s *syntax.Stmt, x *syntax.TestClause, at dirs) {
	words, why := []Word{{Text: "[["}}, ""
	add := func(w *syntax.Word) {
		made, reason := r.word(w)
		words = append(words, made)
		if reason != "" {
			why = reason
		}
	}
	expr := x.X
	if not, ok := expr.(*syntax.UnaryTest); ok && not.Op == syntax.TsNot {
		words, expr = append(words, Word{Text: "!"}), not.X
	}
	switch t := expr.(type) {
	case *syntax.Word:
		add(t)
	case *syntax.UnaryTest:
		words = append(words, Word{Text: t.Op.String()})
		if w, ok := t.X.(*syntax.Word); ok {
			add(w)
		} else {
			why = unclearShells
		}
	case *syntax.BinaryTest:
		a, left := t.X.(*syntax.Word)
		b, right := t.Y.(*syntax.Word)
		if left && right {
			add(a)
			words = append(words, Word{Text: t.Op.String()})
			add(b)
		} else {
			why = unclearShells
			r.substitutions(t)
		}
		if strings.HasPrefix(t.Op.String(), "-") {
			why = unclearMath
		}
	default:
		why = unclearShells
		r.substitutions(x)
	}
	p := r.run(s, append(words, Word{Text: "]]"}), at)
	if why != "" {
		p.Unclear = why
	}
}

// run adds a part of these words.
func (r *reader) run(s *syntax.Stmt, words []Word, at dirs) *Part {
	p := Part{Text: r.source(s), Words: words, Dirs: at}
	r.through(&p, words, 0)
	return r.add(p)
}
