package policy

import "strings"

// tally is what a condition found in the arguments of a call.
type tally struct {
	missing  bool // somewhere the path led to nothing
	folded   bool // a name that differs from the path's only in case
	differs  int
	matches  int
	unjudged int
}

func (t *tally) add(v verdict) {
	switch v {
	case matches:
		t.matches++
	case unjudged:
		t.unjudged++
	default:
		t.differs++
	}
}

// holds reports whether the condition lets a row of this effect match.
func (c *condition) holds(effect Effect, k *call) bool {
	if effect == Allow {
		return c.holdsForAllow(k)
	}
	return c.holdsAgainst(k)
}

// holdsForAllow: every value that is there matches; one must be there only if
// the condition is required.
func (c *condition) holdsForAllow(k *call) bool {
	if v, ok := c.ofText(k); ok {
		return v == matches
	}
	t := c.judge(k)
	if t.differs > 0 || t.unjudged > 0 || t.folded {
		return false
	}
	return !c.required || t.matches > 0 && !t.missing
}

// holdsAgainst, for deny and require_approval: one value that matches or cannot
// be judged is enough. So is a name that differs from the argument's only in case:
// servers written in Go, among others, take it for the argument.
func (c *condition) holdsAgainst(k *call) bool {
	if v, ok := c.ofText(k); ok {
		return v != differs || c.otherSpelling(k.argument(c.path[0].name).text)
	}
	t := c.judge(k)
	return t.matches > 0 || t.unjudged > 0 || t.folded
}

// ofText is the short way for most conditions and calls: one name, and text under
// it. ok is false where judge has to look.
func (c *condition) ofText(k *call) (v verdict, ok bool) {
	if len(c.path) > 1 || c.literal {
		return differs, false
	}
	a := k.argument(c.path[0].name)
	text, ok := a.plainText()
	if !ok {
		return differs, false
	}
	if c.paths != nil {
		return c.paths.matchCleaned(a.cleanText()), true
	}
	return c.matcher.match(text), true
}

func (c *condition) judge(k *call) tally {
	var t tally
	given := *k.argument(c.path[0].name)
	if given.found {
		c.enter(given.value, c.path, &t)
	}
	// A name with a dot or brackets in it is written like a path: both are meant.
	if c.literal {
		if literal := k.argument(c.arg); literal.found {
			c.leaf(literal.value, &t)
			given.found = true
		}
	}
	t.missing = t.missing || !given.found
	t.folded = t.folded || given.folded
	return t
}

// enter judges value, which is what path[0] names.
func (c *condition) enter(value string, path []step, t *tally) {
	switch {
	case !path[0].each:
		c.descend(value, path[1:], t)
	case value[0] == '[':
		c.elements(value, path, t)
	case value[0] == '"' && mayBeList(unquote(value)):
		t.unjudged++ // servers read lists from text
	default:
		c.descend(value, path[1:], t)
	}
}

// elements takes each element of an array, arrays within it included. A value
// that is no array stands for an array of itself.
func (c *condition) elements(array string, path []step, t *tally) {
	for cursor := inside(array); ; {
		element, ok := cursor.element()
		if !ok {
			return
		}
		switch {
		case element[0] == '[':
			c.elements(element, path, t)
		case element[0] == '"' && mayBeJSON(unquote(element)):
			t.unjudged++
		default:
			c.descend(element, path[1:], t)
		}
	}
}

func (c *condition) descend(value string, rest []step, t *tally) {
	if len(rest) == 0 {
		c.leaf(value, t)
		return
	}
	switch value[0] {
	case '{':
		c.reach(value, rest, t)
	case 'n':
		t.missing = true
	default:
		// Text or a list where the path wants an object: some servers read an
		// object out of text, so what it holds is unknown.
		t.unjudged++
	}
}

// reach looks for the next name of the path in an object.
func (c *condition) reach(object string, rest []step, t *tally) {
	found := false
	for cursor := inside(object); ; {
		m, ok := cursor.member()
		if !ok {
			t.missing = t.missing || !found
			return
		}
		if m.name == rest[0].name {
			found = true
			c.enter(m.value, rest, t)
		} else if strings.EqualFold(m.name, rest[0].name) {
			t.folded = true
		}
	}
}

// leaf judges a value by its text form. An array is judged element by element;
// an object has no text form.
func (c *condition) leaf(value string, t *tally) {
	switch value[0] {
	case '{':
		t.unjudged++
	case '[':
		c.leaves(value, t)
	case '"':
		t.add(c.textVerdict(unquote(value)))
	default:
		t.add(c.scalarVerdict(value))
	}
}

func (c *condition) leaves(array string, t *tally) {
	for cursor := inside(array); ; {
		element, ok := cursor.element()
		if !ok {
			return
		}
		c.leaf(element, t)
	}
}
