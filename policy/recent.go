package policy

// remembered is how many arguments a call keeps at hand. The conditions about one
// tool ask for the same few again and again.
const remembered = 2

// recent is what the conditions of one call found last. It lies within the call, so
// that it costs no allocation.
type recent struct {
	arguments [remembered]argument
	next      uint8 // the place to fill
}

// argument is what a call carries under one top-level name.
type argument struct {
	name   string
	value  string // raw JSON
	found  bool
	folded bool // a name that differs only in case is there

	known bool // text, and whether it is the whole of what a condition has to judge
	plain bool // the value is text, and no other name may be meant
	text  string

	cleaned bool // clean and inside are what cleanPath says of text
	clean   string
	inside  bool
}

// plainText is the argument's text, if a condition on it is about that text alone.
func (a *argument) plainText() (text string, ok bool) {
	if !a.known {
		a.known = true
		a.plain = a.found && !a.folded && a.value[0] == '"'
		if a.plain {
			a.text = unquote(a.value)
		}
	}
	return a.text, a.plain
}

// cleanText is plainText as a path.
func (a *argument) cleanText() (clean string, ok bool) {
	if !a.cleaned {
		a.clean, a.inside = cleanPath(a.text)
		a.cleaned = true
	}
	return a.clean, a.inside
}

// argument finds a top-level argument; no argument of a condition has an empty name.
// What it returns is good until the next call.
func (c *call) argument(name string) *argument {
	for i := range c.recent.arguments {
		if a := &c.recent.arguments[i]; a.name == name {
			return a
		}
	}
	a := &c.recent.arguments[c.recent.next%remembered]
	*a = c.args.argument(name)
	c.recent.next++
	return a
}
