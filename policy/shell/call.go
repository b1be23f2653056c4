package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command, and returns where the shell is when it succeeded.
func (r *reader) call(s *syntax.Stmt, x *syntax.CallExpr, opened []File, why string, at dirs) dirs {
	p := Part{Text: r.source(s), Files: opened, Unclear: why, Dirs: at}
	for _, a := range x.Assigns {
		r.assign(&p, a)
	}
	for _, w := range x.Args {
		made, why := r.word(w)
		p.Words = append(p.Words, made)
		p.blame(why)
	}
	if len(p.Words) > 0 {
		r.through(&p, p.Words, 0)
	} else if p.Unclear == "" && p.Env == "" && len(p.Files) == 0 {
		return at // harmless assignments and redirections alone
	}
	return r.after(r.add(p), at)
}

// blame keeps the first reason.
func (p *Part) blame(why string) {
	if p.Unclear == "" {
		p.Unclear = why
	}
}

// assign takes an assignment before a command, or without one.
func (r *reader) assign(p *Part, a *syntax.Assign) {
	if a.Name == nil || a.Index != nil || a.Array != nil {
		p.blame(unclearShell)
		r.substitutions(a)
		return
	}
	value := Word{}
	if a.Value != nil {
		made, why := r.word(a.Value)
		value = made
		p.blame(why)
	}
	r.variable(p, a.Name.Value, value)
}

// set takes an assignment that is none in the grammar.
func (r *reader) set(s *syntax.Stmt, name string, value Word) {
	p := Part{Text: r.source(s)}
	if r.variable(&p, name, value); p.Unclear != "" {
		r.add(p)
	}
}

// declaration reads export, declare and the like as the commands that they are to
// some shells.
func (r *reader) declaration(s *syntax.Stmt, x *syntax.DeclClause, at dirs) {
	words, why := []Word{{Text: x.Variant.Value}}, ""
	for _, a := range x.Args {
		switch {
		case a.Index != nil || a.Array != nil:
			why = unclearShell
			r.substitutions(a)
		case a.Name == nil || a.Value == nil:
			words = append(words, r.bare(a))
		default:
			made, reason := r.word(a.Value)
			made.Text = a.Name.Value + "=" + made.Text
			words = append(words, made)
			why = first(why, reason)
		}
	}
	r.run(s, words, at).blame(why)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// bare is a word of a declaration that assigns nothing.
func (r *reader) bare(a *syntax.Assign) Word {
	if a.Name == nil {
		made, _ := r.word(a.Value)
		return made
	}
	if a.Naked {
		return Word{Text: a.Name.Value}
	}
	return Word{Text: a.Name.Value + "="}
}

// redirections returns the files that the statement opens, except those that are
// there for anybody.
func (r *reader) redirections(s *syntax.Stmt) (opened []File, why string) {
	for _, d := range s.Redirs {
		if d.N != nil && strings.Trim(d.N.Value, "0123456789") != "" {
			why = unclearShell // {name}> sets a variable
		}
		if d.Hdoc != nil {
			why = first(why, r.document(d.Hdoc))
			continue
		}
		made, reason := r.word(d.Word)
		why = first(why, reason)
		switch {
		case d.Op == syntax.WordHdoc || harmless(d.Op, made):
		case made.Kind != Plain:
			why = first(why, unclearExpansion)
		default:
			opened = append(opened, File{Path: made.Text, Write: d.Op != syntax.RdrIn})
		}
	}
	return opened, why
}

// document reads the body of a here-document.
func (r *reader) document(body *syntax.Word) string {
	r.substitutions(body)
	for _, part := range body.Parts {
		if _, ok := part.(*syntax.Lit); !ok {
			return unclearExpansion
		}
	}
	return ""
}

var devices = set("/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty")

func harmless(op syntax.RedirOperator, w Word) bool {
	if op == syntax.DplIn || op == syntax.DplOut {
		return w.Kind == Plain && strings.Trim(strings.TrimSuffix(w.Text, "-"), "0123456789") == ""
	}
	return w.Kind == Plain && devices[w.Text]
}
