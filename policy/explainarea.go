package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// mostNear bounds how many file or exec rows that do not match are named.
const mostNear = 5

func (s *Set) explainResource(e *Explanation, given *Resource, c *call) {
	clean, err := given.clean()
	if err != nil || given.Missing != "" {
		return
	}
	named := map[*rule]bool{}
	name := func(p *pool) {
		for _, b := range p.found.all() {
			for _, r := range b.inOrder() {
				if !named[r] {
					named[r] = true
					e.add(r, &c.who, r.areaObstacle(p, b, &clean, c), r.areaGround(&clean, c))
				}
			}
		}
	}
	var p pool
	s.areas.find(&p, &clean)
	name(&p)
	for _, path := range s.areas.below(&clean) {
		var p pool
		s.areas.findBelow(&p, &clean, path)
		name(&p)
	}
	e.addNear(s.areas.rules, named, &clean, c)
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
func (r *rule) areaObstacle(p *pool, b *bucket, res *Resource, c *call) string {
	if r.effect == Allow && !r.fromApproval() {
		if away := r.area.away(res); away != "" {
			return away
		}
		if !slices.Contains(p.allows.all(), b) {
			return "a row about less than " + r.area.String() + " takes its place here"
		}
	}
	return r.obstacle(c)
}

func (r *rule) areaGround(res *Resource, c *call) string {
	if away := r.area.away(res); away != "" {
		return away + "; " + r.ground(c)
	}
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
	against := r.effect != Allow
	return slices.Contains(verdictsFor(against), a.command.match(res.Command)) &&
		(a.cwd == "" || res.CWD != "" && within(res.CWD, a.cwd) || against && res.CWD == "")
}

func verdictsFor(against bool) []verdict {
	if against {
		return []verdict{matches, unjudged}
	}
	return []verdict{matches}
}

// away says what of the resource the area cannot judge.
func (a *area) away(res *Resource) string {
	switch {
	case res.Type != TypeExec:
		return ""
	case a.command.match(res.Command) == unjudged:
		return "the command has shell control characters, which no glob judges"
	case a.cwd != "" && res.CWD == "":
		return "the working directory is not known"
	}
	return ""
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
