package policy

// remembered is how many arguments and how many paths a call keeps at hand. The
// conditions about one tool ask for the same few again and again.
const remembered = 4

// recent is what the conditions of one call found last. It lies within the call, so
// that it costs no allocation.
type recent struct {
	arguments [remembered]argument
	paths     [remembered]cleanedPath
	argument  uint8 // the next place to fill
	path      uint8
}

// argument is what a call carries under one top-level name.
type argument struct {
	name   string
	value  string // raw JSON
	found  bool
	folded bool // a name that differs only in case is there
}

// cleanedPath is a text and what cleanPath says of it.
type cleanedPath struct {
	text  string
	clean string
	known bool
	ok    bool
}

// argument finds a top-level argument; no argument of a condition has an empty name.
func (c *call) argument(name string) argument {
	for i := range c.recent.arguments {
		if a := &c.recent.arguments[i]; a.name == name {
			return *a
		}
	}
	a := c.args.argument(name)
	c.recent.arguments[c.recent.argument%remembered] = a
	c.recent.argument++
	return a
}

// cleanPath is the function of that name.
func (c *call) cleanPath(text string) (clean string, ok bool) {
	for i := range c.recent.paths {
		if p := &c.recent.paths[i]; p.known && p.text == text {
			return p.clean, p.ok
		}
	}
	clean, ok = cleanPath(text)
	c.recent.paths[c.recent.path%remembered] = cleanedPath{text: text, clean: clean, known: true, ok: ok}
	c.recent.path++
	return clean, ok
}
