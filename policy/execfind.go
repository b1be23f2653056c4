package policy

import (
	"slices"

	"holm/policy/shell"
)

// closedFor reports whether allow rows close the layer of the resource's sandbox.
func (x *areas) closedFor(r *Resource) bool {
	for _, a := range x.execAreas(r) {
		if a != nil && a.closed {
			return true
		}
	}
	return false
}

func (x *areas) execAreas(r *Resource) [2]*execArea {
	return [...]*execArea{x.commands[r.Sandbox], x.commands["*"]}
}

// findPart fills the pool with the rules about a part of a command that runs in cwd.
// It goes from exact commands over globs to *, and on each tier from rows for the
// working directory to rows for everywhere. What the part cannot be judged by comes
// last.
func (x *areas) findPart(p *pool, r *Resource, part *shell.Part, cwd string) {
	areas := x.execAreas(r)
	for _, a := range areas {
		if a != nil {
			a.approvals(p, r)
		}
	}
	for kind := exactCommand; kind <= anyCommand; kind++ {
		var room [8]*places
		found := room[:0]
		for _, a := range areas {
			if a != nil {
				found = a.find(found, kind, r.Command, part)
			}
		}
		addTier(p, found, cwd)
	}
	p.judged = p.found.n
	if part.Unclear == "" {
		return
	}
	for _, a := range areas {
		if a != nil {
			a.blind.addScoped(p, cwd)
			p.add(a.blind.everywhere)
		}
	}
}

// approvals adds the rows that approvals left for the very command.
func (a *execArea) approvals(p *pool, r *Resource) {
	p.add(a.approved[ranIn{command: r.Command}])
	if r.CWD != "" {
		p.add(a.approved[ranIn{r.Command, r.CWD}])
	}
}

// find appends the places of one kind of command that are about the part. The exact
// text of the whole command is about each part of it.
func (a *execArea) find(found []*places, kind commandKind, text string, part *shell.Part) []*places {
	if kind == anyCommand {
		return append(found, &a.any)
	}
	if whole := a.texts[text]; whole != nil && kind == exactCommand {
		found = append(found, whole)
	}
	if coverable(part) {
		found = a.allowed.covering(found, kind, part.Words)
	}
	if kind == globCommand && part.Text != text {
		found = append(found, &a.odd)
	}
	for _, run := range part.Runs {
		found = a.against.meeting(found, kind, run)
	}
	for _, name := range part.MayRun {
		found = appendPlaces(found, a.against.begins[beginning{program: name}], kind, func(*command) bool { return true })
	}
	return found
}

func (x *wordIndex) covering(found []*places, kind commandKind, words []shell.Word) []*places {
	covers := func(c *command) bool { return fits(c.words, words) }
	at := beginning{program: words[0].Text}
	if len(words) > 1 {
		at.second = words[1].Text
		found = appendPlaces(found, x.begins[at], kind, covers)
		at.second = ""
	}
	found = appendPlaces(found, x.begins[at], kind, covers)
	return appendPlaces(found, x.begins[beginning{}], kind, covers)
}

func (x *wordIndex) meeting(found []*places, kind commandKind, run []shell.Word) []*places {
	if len(x.begins) == 0 {
		return found
	}
	meets := func(c *command) bool { return c.meets(run) }
	found = appendPlaces(found, x.begins[beginning{program: shell.ProgramName(run[0].Text)}], kind, meets)
	return appendPlaces(found, x.begins[beginning{}], kind, meets)
}

func appendPlaces(found []*places, list []*wordPlaces, kind commandKind, about func(*command) bool) []*places {
	for _, p := range list {
		if p.kind == kind && !slices.Contains(found, &p.places) && about(&p.command) {
			found = append(found, &p.places)
		}
	}
	return found
}

// addTier takes rows whose commands are equally specific.
func addTier(p *pool, found []*places, cwd string) {
	for _, at := range found {
		at.addScoped(p, cwd)
	}
	p.next()
	for _, at := range found {
		p.add(at.everywhere)
	}
	p.next()
}

// addScoped takes the rows for the working directory or one above it. All of them
// count against a call whose working directory is not known.
func (at *places) addScoped(p *pool, cwd string) {
	if len(at.below) == 0 {
		return
	}
	if cwd == "" {
		for _, b := range at.inOrder {
			p.addAgainst(b)
		}
	}
	for dir := cwd; dir != ""; dir = parentDir(dir) {
		p.add(at.below[dir])
	}
}
