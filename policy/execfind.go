package policy

import "strings"

// findCommand goes from exact commands over globs to *, and on each tier from
// rows for the working directory to rows for everywhere.
func (x *areas) findCommand(p *pool, r *Resource) {
	if len(x.commands) == 0 {
		return
	}
	parts := [...]*execArea{x.commands[r.Sandbox], x.commands["*"]}
	for _, a := range parts {
		p.closed = p.closed || a != nil && a.closed
	}
	if r.Missing != "" {
		return
	}
	compound := hasShellControl(r.Command)
	for _, a := range parts {
		if a != nil {
			a.start(p, r)
		}
	}
	for kind := exactCommand; kind <= anyCommand; kind++ {
		var room [8]*places
		found := room[:0]
		for _, a := range parts {
			if a != nil {
				found = a.find(found, kind, r.Command, compound)
			}
		}
		addTier(p, found, r.CWD)
	}
}

func (a *execArea) start(p *pool, r *Resource) {
	p.add(a.approved[ranIn{command: r.Command}])
	if r.CWD != "" {
		p.add(a.approved[ranIn{r.Command, r.CWD}])
	}
}

// find appends the places of one kind of command that match.
func (a *execArea) find(found []*places, kind commandKind, text string, compound bool) []*places {
	switch kind {
	case exactCommand:
		if exact := a.exact[text]; exact != nil {
			found = append(found, exact)
		}
		return found
	case anyCommand:
		return append(found, &a.any)
	}
	if compound {
		return append(found, &a.against)
	}
	first, _, _ := strings.Cut(text, " ")
	found = matching(found, a.globs[first], text)
	return matching(found, a.globs[""], text)
}

func matching(found []*places, globs []*globPlaces, text string) []*places {
	for _, g := range globs {
		if g.matchWords(text) {
			found = append(found, &g.places)
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
