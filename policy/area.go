package policy

import "strings"

// area is what a file or exec row is about, ready for use.
type area struct {
	sandbox string // or "*"
	mode    string // read, write, search or "*", for files
	path    string // cleaned prefix, for files
	command command
	cwd     string // cleaned prefix; "" for everywhere
}

// areaOf takes the area from a row. A row that cannot be used counts as a deny,
// so what is not sound in its area becomes as wide as can be.
func areaOf(row *Row, broken bool) *area {
	s := row.Complete().Scope
	if row.Unreadable != nil {
		s = Scope{}
	}
	if broken {
		s = widened(s)
	}
	if row.ResourceType == TypeFile {
		return &area{sandbox: s.Sandbox, mode: s.Mode, path: s.Path}
	}
	literal := row.Origin == OriginApproval && !broken
	return &area{sandbox: s.Sandbox, command: parseCommand(s.Command, literal), cwd: s.CWD}
}

func widened(s Scope) Scope {
	if checkName("", s.Sandbox) != nil {
		s.Sandbox = "*"
	}
	if !knownMode(s.Mode) {
		s.Mode = "*"
	}
	if checkPath("", s.Path) != nil {
		s.Path = "/"
	}
	if s.Command == "" {
		s.Command = "*"
	}
	if checkPath("", s.CWD) != nil {
		s.CWD = ""
	}
	return s
}

// within reports whether a cleaned path is a cleaned directory or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// areas holds the file or exec rules of a set: all of them for explanations, and
// an index for decisions.
type areas struct {
	rules    []*rule // by ID
	files    map[fileKey]*fileArea
	commands map[string]*execArea // by sandbox
}

func (x *areas) add(r *rule) {
	x.rules = append(x.rules, r)
	if r.row.ResourceType == TypeFile {
		x.addFile(r)
	} else {
		x.addCommand(r)
	}
}

// finish is called once, after the last add.
func (x *areas) finish() {
	for _, a := range x.files {
		a.finish()
	}
	for _, a := range x.commands {
		a.finish()
	}
}

// pool is what an index found about one resource.
type pool struct {
	// found are the buckets that match, the most specific first.
	found buckets
	// allows are those of them whose allow rows count: only the most specific do,
	// so that a narrower area narrows who may enter it.
	allows buckets
	// closed says that allow rows exist: what none of them covers is denied.
	closed bool
	// judged is how many of found match; what comes behind them counts because the
	// command cannot be judged.
	judged int

	full bool // no more allows: a more specific level had some
}

// add takes a bucket that matches.
func (p *pool) add(b *bucket) {
	if b == nil {
		return
	}
	p.found.add(b)
	if !p.full && len(b.allows.briefs) > 0 {
		p.allows.add(b)
	}
}

// addAgainst takes a bucket that cannot be judged: its allow rows do not count.
func (p *pool) addAgainst(b *bucket) { p.found.add(b) }

// next ends a level of buckets that are equally specific.
func (p *pool) next() { p.full = p.allows.n > 0 }

// buckets is a list that needs no allocation while it is short. A slice of a
// caller's array would: appended to behind a pointer, it moves to the heap.
type buckets struct {
	room [commonBuckets]*bucket
	more []*bucket // all of them, once there are more than fit in room
	n    int
}

func (l *buckets) add(b *bucket) {
	switch {
	case l.n < commonBuckets:
		l.room[l.n] = b
	case l.n == commonBuckets:
		l.more = append(l.more, l.room[:]...)
		fallthrough
	default:
		l.more = append(l.more, b)
	}
	l.n++
}

func (l *buckets) all() []*bucket {
	if l.n > commonBuckets {
		return l.more
	}
	return l.room[:l.n]
}
