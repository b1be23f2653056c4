package policy

import (
	"path"

	"holm/policy/shell"
)

// command decides about one command of a call: each of its parts by itself, the
// strictest wins. Where no row is about commands or files it is not even read.
func (s *Set) command(r *Resource, at int, c *call) Result {
	closed := s.areas.closedFor(r)
	if r.Missing != "" {
		return closedResult(Result{Layer: LayerExec, Resource: at}, closed)
	}
	var total Result
	parts := shell.Read(r.Command)
	for i := range parts {
		one := s.part(r, &parts[i], closed, c)
		one.Resource = at
		if len(parts) > 1 {
			one.Part = parts[i].Text
		}
		total = total.andPart(one)
	}
	return total
}

// part decides about one part, in each directory where it may run.
func (s *Set) part(r *Resource, part *shell.Part, closed bool, c *call) (total Result) {
	if len(part.Dirs) == 1 && part.Dirs[0] == "" {
		return s.partIn(r, *part, r.CWD, closed, c)
	}
	for _, cwd := range directories(r.CWD, part.Dirs) {
		total = total.andPart(s.partIn(r, *part, cwd, closed, c))
	}
	return total
}

func closedResult(r Result, closed bool) Result {
	if r.Step == 0 && closed {
		r.Decision, r.Step = Deny, StepNoGrant
	}
	return r
}

// nowhere stands for a directory that is not known.
var nowhere = []string{""}

// directories are the working directories of a part, "" where one is not known.
func directories(cwd string, dirs []string) []string {
	if dirs == nil {
		return nowhere
	}
	all := make([]string, len(dirs))
	for i, dir := range dirs {
		all[i] = inDirectory(cwd, dir)
	}
	return all
}

// inDirectory is a path as seen from a directory; "" if that is not known.
func inDirectory(cwd, name string) string {
	switch {
	case name != "" && name[0] == '/':
		return path.Clean(name)
	case cwd == "" || name == "":
		return cwd
	}
	return path.Join(cwd, name)
}

// partIn decides about one part that runs in cwd. The files that the shell opens for
// it are judged like those that a call names.
func (s *Set) partIn(r *Resource, part shell.Part, cwd string, closed bool, c *call) Result {
	files := Result{}
	s.placeFiles(&part, cwd)
	for _, f := range part.Files {
		if file := redirected(r, f, cwd); file.Path != "" && len(s.areas.files) > 0 {
			files = files.andPart(s.redirection(&file, r, c))
		}
	}
	var p pool
	s.areas.findPart(&p, r, &part, cwd)
	result := Result{Layer: LayerExec}
	p.decide(&result, &part, c)
	if result = closedResult(result, closed); result.Step == StepNoGrant {
		result.Unjudged = unjudgedIn(&part)
	}
	return result.andPart(files)
}

// placeFiles finds a part unclear that opens files which rules about files cannot judge.
func (s *Set) placeFiles(part *shell.Part, cwd string) {
	for _, f := range part.Files {
		if part.Unclear == "" && len(s.areas.files) > 0 && inDirectory(cwd, f.Path) == "" {
			part.Unclear = "it opens a file in a directory that is not known"
		}
	}
}

// redirected is the file of a redirection as a resource.
func redirected(r *Resource, f shell.File, cwd string) Resource {
	file := Resource{Type: TypeFile, Sandbox: r.Sandbox, Mode: ModeRead, Path: inDirectory(cwd, f.Path)}
	if f.Write {
		file.Mode = ModeWrite
	}
	return file
}

// redirection decides about the file of a redirection. What an approval left for the
// very command answers for the file too.
func (s *Set) redirection(file, r *Resource, c *call) Result {
	var p pool
	for _, a := range s.areas.execAreas(r) {
		if a != nil {
			a.approvals(&p, r)
		}
	}
	s.areas.findFile(&p, file, file.Path)
	return pooled(&p, LayerFile, 0, c)
}

// decide takes the steps over what was found about a part of a command.
func (p *pool) decide(r *Result, part *shell.Part, c *call) {
	found, allows := p.found.all(), p.allows.all()
	judged := found[:p.judged]
	c.named = allows
	defer func() { c.named = nil }()
	if part.Unclear != "" && firstDeny(judged, c) == nil && firstDeny(found, c) != nil {
		r.Decision, r.Step, r.Unjudged = Deny, StepInvalid, part.Unclear
		return
	}
	decide(r, found, allows, c)
	if r.Step == StepApproval && part.Unclear != "" && firstOpen(judged, found, c) == nil {
		r.Unjudged = part.Unclear
	}
}

// unjudgedIn says why no pattern of words covers the part; "" where one could.
func unjudgedIn(p *shell.Part) string {
	switch {
	case p.Unclear != "":
		return p.Unclear
	case p.Env != "":
		return "it sets " + clip(p.Env) + ", which may change what programs do"
	case len(p.Files) > 0:
		return "the shell opens a file for it"
	}
	return ""
}

// andPart combines what is decided about two parts. Of two denials, and of two
// questions, the one that a row about the command asks for is named.
func (r Result) andPart(other Result) Result {
	if r.Step != 0 && r.Decision == other.Decision && other.named() && !r.named() {
		r, other = other, r
	}
	return r.orAnd(other)
}

func (r *Result) named() bool { return r.Rule != nil && r.Unjudged == "" }

// givesWay reports whether the rule is one of require_approval about any command,
// and an allow row that counts here is about less than it in every respect: fewer
// commands, in no more directories and sandboxes, for no further people. "The rest
// is asked about" is said so.
func (r *rule) givesWay(c *call) bool {
	for _, b := range c.named {
		for i := range b.allows.briefs {
			if one := &b.allows.briefs[i]; one.speaksFor(&c.who) && r.exempts(one.rule) {
				return true
			}
		}
	}
	return false
}

func (r *rule) exempts(allow *rule) bool {
	a, b := r.area, allow.area
	return b.command.kind != anyCommand && spansName(a.sandbox, b.sandbox) &&
		(a.cwd == "" || b.cwd != "" && within(b.cwd, a.cwd)) && spansGrants(r, allow)
}
