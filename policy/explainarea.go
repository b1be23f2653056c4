package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"holm/policy/shell"
)

// mostNear bounds how many file or exec rows that do not match are named.
const mostNear = 5

func (s *Set) explainResource(e *Explanation, given *Resource, c *call) {
	clean, err := given.clean()
	if err != nil || given.Missing != "" {
		return
	}
	var named map[*rule]bool
	if clean.Type == TypeExec {
		named = s.explainCommand(e, &clean, c)
	} else {
		named = s.explainFile(e, &clean, c)
	}
	e.addNear(s.areas.rules, named, &clean, c)
}

func (s *Set) explainFile(e *Explanation, res *Resource, c *call) map[*rule]bool {
	named := map[*rule]bool{}
	name := func(p *pool) {
		for _, b := range p.found.all() {
			for _, r := range b.inOrder() {
				if !named[r] {
					named[r] = true
					e.add(r, &c.who, r.areaObstacle(p, b, c), r.areaGround(res, c))
				}
			}
		}
	}
	var p pool
	s.areas.findFile(&p, res, res.Path)
	name(&p)
	for _, path := range s.areas.below(res) {
		var p pool
		s.areas.findBelow(&p, res, path)
		name(&p)
	}
	return named
}

// problem says why the resource is none that rows could be about; empty where it is.
func (r *Resource) problem() string {
	if _, err := r.clean(); err != nil {
		return err.Error()
	}
	if r.Missing != "" {
		return fmt.Sprintf("argument %q is absent, so the call does not say which %s it reaches, and rules allow only some", clip(r.Missing), layerOf(r).noun())
	}
	return ""
}

// areaObstacle says why a rule that is about the resource does not count.
func (r *rule) areaObstacle(p *pool, b *bucket, c *call) string {
	if r.effect == Allow && !r.fromApproval() && !slices.Contains(p.allows.all(), b) {
		return "a row about less than " + r.area.String() + " takes its place here"
	}
	return r.obstacle(c)
}

func (r *rule) areaGround(res *Resource, c *call) string {
	if res.Mode == ModeSearch && res.Path != r.area.path && within(r.area.path, res.Path) {
		return "the search reads " + r.area.path + " too; " + r.ground(c)
	}
	return r.ground(c)
}

// addNear names further rules that are not about the resource but nearly are: another
// sandbox or mode alone is in the way, or they allow something beside it.
func (e *Explanation) addNear(rules []*rule, named map[*rule]bool, res *Resource, c *call) {
	left := mostNear
	for _, r := range rules {
		if left == 0 {
			return
		}
		if r.row.ResourceType != res.Type || named[r] {
			continue
		}
		if why := r.nearly(res); why != "" {
			e.add(r, &c.who, why, "")
			left--
		}
	}
}

// nearly says what keeps the rule from being about the resource; empty when it is
// about it, or far from it.
func (r *rule) nearly(res *Resource) string {
	a := r.area
	other := a.elsewhere(res)
	about := r.about(res)
	switch {
	case other != "" && about:
		return other
	case other == "" && !about && r.effect == Allow && a.beside(res):
		return "is about " + a.String() + ", not about this"
	}
	return ""
}

// beside reports whether the area is in a folder that the file is in as well, or
// begins with the command's first word.
func (a *area) beside(res *Resource) bool {
	if res.Type == TypeFile {
		dir := path.Dir(a.path)
		return dir != "/" && within(res.Path, dir)
	}
	own, _, _ := strings.Cut(a.command.text, " ")
	given, _, _ := strings.Cut(res.Command, " ")
	return own == given
}

// elsewhere says that the area is one of another sandbox or mode.
func (a *area) elsewhere(res *Resource) string {
	switch {
	case a.sandbox != "*" && a.sandbox != res.Sandbox:
		return fmt.Sprintf("is about sandbox %q", a.sandbox)
	case res.Type == TypeFile && !modeCovers(a.mode, res.Mode):
		return fmt.Sprintf("is about the mode %s", a.mode)
	}
	return ""
}

// about reports whether path, or command and directory, put the resource within
// the rule's area. What cannot be judged is within that of rules against the call.
func (r *rule) about(res *Resource) bool {
	a := r.area
	switch {
	case r.fromApproval() && res.Type == TypeFile:
		return res.Path == a.path
	case res.Type == TypeFile:
		return within(res.Path, a.path)
	case r.fromApproval():
		return res.Command == a.command.text && (a.cwd == "" || a.cwd == res.CWD)
	}
	return a.aboutCommand(res, r.effect != Allow)
}

// aboutCommand reports whether the area has a part of the command in it.
func (a *area) aboutCommand(res *Resource, against bool) bool {
	c := &a.command
	if c.kind == anyCommand || c.kind == exactCommand && c.text == res.Command {
		return a.aboutDirectory(res.CWD, against)
	}
	for _, part := range shell.Read(res.Command) {
		about := against && (part.Unclear != "" || c.concerns(&part)) || !against && c.covers(&part)
		for _, cwd := range directories(res.CWD, part.Dirs) {
			if about && a.aboutDirectory(cwd, against) {
				return true
			}
		}
	}
	return false
}

func (a *area) aboutDirectory(cwd string, against bool) bool {
	return a.cwd == "" || cwd != "" && within(cwd, a.cwd) || against && cwd == ""
}

// String names what the area is about.
func (a *area) String() string {
	switch {
	case a.path != "":
		return a.path
	case a.cwd != "":
		return fmt.Sprintf("%q in %s", clip(a.command.String()), a.cwd)
	}
	return fmt.Sprintf("%q", clip(a.command.String()))
}

func (c *command) String() string {
	if c.kind == anyCommand {
		return "*"
	}
	return c.text
}
