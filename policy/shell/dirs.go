package shell

import (
	"path"
	"slices"
	"strings"
)

// dirs are directories in which a command may run, relative to the first one or
// absolute; nil where that is not known.
type dirs []string

// here is where the command starts. It is never changed.
var here = dirs{""}

// mostDirs bounds them: each makes the part be judged once more.
const mostDirs = 4

func (d dirs) or(other dirs) dirs {
	if d == nil || other == nil {
		return nil
	}
	all := slices.Clone(d)
	for _, dir := range other {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	if len(all) > mostDirs {
		return nil
	}
	return all
}

// to is where a change of the directory leads.
func (d dirs) to(dir string) dirs {
	if strings.HasPrefix(dir, "/") {
		return dirs{path.Clean(dir)}
	}
	if d == nil {
		return nil
	}
	all := make(dirs, len(d))
	for i, from := range d {
		all[i] = path.Join(from, dir)
	}
	return all
}

var movers = set("cd chdir pushd popd")

// moves reports whether the part, or a command that it runs, may change the
// directory of the shell.
func (p *Part) moves() bool {
	return slices.ContainsFunc(p.Runs, func(run []Word) bool { return len(run) > 0 && movers[run[0].Text] })
}

func anyMoves(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.moves() })
}

// after is where the shell is when a simple command has succeeded.
func (r *reader) after(p *Part, at dirs) dirs {
	switch {
	case !p.moves():
		return at
	case len(p.Words) == 2 && p.Words[0].Text == "cd" && p.Words[1].Kind == Plain && goes(p.Words[1].Text) && p.Unclear == "":
		return at.to(p.Words[1].Text)
	}
	r.lost = true
	return nil
}

// goes reports whether cd takes the text for a directory and nothing else.
func goes(text string) bool { return text != "" && text[0] != '-' && text[0] != '+' }
