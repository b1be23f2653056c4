package policy

import (
	"cmp"
	"slices"
	"strings"

	"holm/policy/shell"
)

// execArea finds the rows of one sandbox about a command.
type execArea struct {
	texts    map[string]*places // exact commands, by their text
	allowed  wordIndex          // allow rows, by their first two words
	against  wordIndex          // deny and require_approval rows, by their program's name
	blind    places             // the same, all of which count for what cannot be judged
	odd      places             // those of them that are no simple command: they count for all but simple commands
	any      places
	approved map[ranIn]*bucket // rows that approvals left
	closed   bool              // some rule closes the layer
}

// ranIn is what the row of an approval is about: the very command in the very
// directory, or anywhere if the row names none.
type ranIn struct{ command, cwd string }

// wordIndex holds patterns by how they begin.
type wordIndex struct {
	begins map[beginning][]*wordPlaces
	byText map[string]*wordPlaces // while rules are added
}

// beginning is a program and the word behind it; "" where a pattern leaves it open.
type beginning struct{ program, second string }

type wordPlaces struct {
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
		a = &execArea{texts: map[string]*places{}, approved: map[ranIn]*bucket{}}
		x.commands[r.area.sandbox] = a
	}
	if r.fromApproval() {
		bucketIn(a.approved, ranIn{r.area.command.text, r.area.cwd}).add(r)
		return
	}
	a.closed = a.closed || r.closes()
	a.add(r)
}

func (a *execArea) add(r *rule) {
	c := &r.area.command
	if c.kind == anyCommand {
		a.any.add(r)
		return
	}
	if c.kind == exactCommand {
		if a.texts[c.text] == nil {
			a.texts[c.text] = &places{}
		}
		a.texts[c.text].add(r)
	}
	if r.effect == Allow {
		at := beginning{program: c.literal(0)}
		if at.program != "" {
			at.second = c.literal(1)
		}
		a.allowed.add(at, r)
		return
	}
	a.blind.add(r)
	if len(c.words) == 0 && c.kind == globCommand {
		a.odd.add(r)
	}
	a.against.add(beginning{program: shell.ProgramName(c.literal(0))}, r)
}

func (x *wordIndex) add(at beginning, r *rule) {
	c := &r.area.command
	if len(c.words) == 0 {
		return // found by its text, or where nothing can be judged
	}
	if x.byText == nil {
		x.begins, x.byText = map[beginning][]*wordPlaces{}, map[string]*wordPlaces{}
	}
	p := x.byText[c.text]
	if p == nil {
		p = &wordPlaces{command: *c}
		x.byText[c.text] = p
		x.begins[at] = append(x.begins[at], p)
	}
	p.add(r)
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
	for _, p := range a.texts {
		p.finish()
	}
	for _, b := range a.approved {
		b.finish()
	}
	a.allowed.finish()
	a.against.finish()
	a.blind.finish()
	a.odd.finish()
	a.any.finish()
}

// finish puts exact patterns first, then the longest.
func (x *wordIndex) finish() {
	x.byText = nil
	for _, list := range x.begins {
		slices.SortFunc(list, func(a, b *wordPlaces) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), len(b.text)-len(a.text), strings.Compare(a.text, b.text))
		})
		for _, p := range list {
			p.finish()
		}
	}
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
