package policy

import (
	"cmp"
	"slices"
	"strings"
)

// execArea finds the rows of one sandbox about a command.
type execArea struct {
	exact  map[string]*places
	byText map[string]*globPlaces   // while rules are added
	globs  map[string][]*globPlaces // by their first word; "" where it is open
	// against holds the deny and require_approval globs, all of which count for a
	// command that no glob can judge.
	against  places
	any      places
	approved map[ranIn]*bucket // rows that approvals left
	closed   bool              // some rule closes the layer
}

// ranIn is what the row of an approval is about: the very command in the very
// directory, or anywhere if the row names none.
type ranIn struct{ command, cwd string }

type globPlaces struct {
	command
	places
}

// places holds the rules about one command by the working directory they are for.
type places struct {
	everywhere *bucket
	below      map[string]*bucket // by directory
	inOrder    []*bucket          // of below, the longest directory first
}

func (x *areas) addCommand(r *rule) {
	if x.commands == nil {
		x.commands = map[string]*execArea{}
	}
	a := x.commands[r.area.sandbox]
	if a == nil {
		a = newExecArea()
		x.commands[r.area.sandbox] = a
	}
	if r.fromApproval() {
		bucketIn(a.approved, ranIn{r.area.command.text, r.area.cwd}).add(r)
		return
	}
	a.closed = a.closed || r.closes()
	a.places(&r.area.command).add(r)
	if r.area.command.kind == globCommand && r.effect != Allow {
		a.against.add(r)
	}
}

func newExecArea() *execArea {
	return &execArea{
		exact: map[string]*places{}, byText: map[string]*globPlaces{},
		globs: map[string][]*globPlaces{}, approved: map[ranIn]*bucket{},
	}
}

func (a *execArea) places(c *command) *places {
	switch c.kind {
	case exactCommand:
		if a.exact[c.text] == nil {
			a.exact[c.text] = &places{}
		}
		return a.exact[c.text]
	case globCommand:
		return a.glob(c)
	}
	return &a.any
}

func (a *execArea) glob(c *command) *places {
	g := a.byText[c.text]
	if g == nil {
		g = &globPlaces{command: *c}
		a.byText[c.text] = g
		a.globs[c.firstWord()] = append(a.globs[c.firstWord()], g)
	}
	return &g.places
}

func (p *places) add(r *rule) {
	if r.area.cwd == "" {
		if p.everywhere == nil {
			p.everywhere = &bucket{}
		}
		p.everywhere.add(r)
		return
	}
	if p.below == nil {
		p.below = map[string]*bucket{}
	}
	bucketIn(p.below, r.area.cwd).add(r)
}

func (a *execArea) finish() {
	for _, p := range a.exact {
		p.finish()
	}
	for _, b := range a.approved {
		b.finish()
	}
	a.byText = nil
	for _, globs := range a.globs {
		slices.SortFunc(globs, func(a, b *globPlaces) int {
			return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text))
		})
		for _, g := range globs {
			g.finish()
		}
	}
	a.against.finish()
	a.any.finish()
}

func (p *places) finish() {
	if p.everywhere != nil {
		p.everywhere.finish()
	}
	dirs := make([]string, 0, len(p.below))
	for dir := range p.below {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, dir := range dirs {
		p.below[dir].finish()
		p.inOrder = append(p.inOrder, p.below[dir])
	}
}
