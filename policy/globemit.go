package policy

import (
	"fmt"
	"regexp"
	"strings"
)

// globEmitter writes a parsed glob as RE2.
type globEmitter struct {
	paths bool // * and ? and classes stay within a segment
	out   strings.Builder
	empty int // place of a class that matches nothing; 0 if there is none
}

// sequence writes nodes. first says that they stand at the beginning of the whole
// pattern, closed that a slash or the end of the whole pattern follows them.
func (e *globEmitter) sequence(nodes []globNode, first, closed bool) {
	for i := 0; i < len(nodes); i++ {
		atStart, rest := first && i == 0, nodes[i+1:]
		switch n := nodes[i]; n.kind {
		case globText:
			e.out.WriteString(regexp.QuoteMeta(n.text))
		case globSlash:
			i += e.slash(rest, closed)
		case globDeep:
			i += e.deep(rest, atStart)
		case globStar:
			inWord := i == 0 && !first || i > 0 && nodes[i-1].kind != globSlash
			e.star(inWord, closes(rest, closed))
		case globOne:
			e.one()
		case globClass:
			e.class(n)
		case globEither:
			e.either(n, atStart, closes(rest, closed))
		}
	}
}

// closes reports whether a slash or the end of the whole pattern comes next.
func closes(rest []globNode, closed bool) bool {
	if len(rest) == 0 {
		return closed
	}
	return rest[0].kind == globSlash
}

// slash writes a slash, and with it a ** that fills a segment: dir/** is dir too,
// and a/**/b is a/b.
func (e *globEmitter) slash(rest []globNode, closed bool) (taken int) {
	if !e.paths || len(rest) == 0 || rest[0].kind != globDeep || !closes(rest[1:], closed) {
		e.out.WriteByte('/')
		return 0
	}
	e.out.WriteString(`(?:/.*)?`)
	return 1
}

// deep writes **, and with it the slash after one that begins the pattern:
// **/name is name too.
func (e *globEmitter) deep(rest []globNode, atStart bool) (taken int) {
	if !e.paths || !atStart || len(rest) < 2 || rest[0].kind != globSlash {
		e.out.WriteString(`.*`)
		return 0
	}
	e.out.WriteString(`(?:.*/)?`)
	for taken = 1; len(rest) > taken+2 && rest[taken].kind == globDeep && rest[taken+1].kind == globSlash; {
		taken += 2 // **/**/name is **/name
	}
	return taken
}

// star writes *; inWord says that it does not begin a segment, ends that it ends one.
func (e *globEmitter) star(inWord, ends bool) {
	switch {
	case !e.paths:
		e.out.WriteString(`.*`)
	case !inWord && ends:
		e.out.WriteString(`[^/]+`)
	default:
		e.out.WriteString(`[^/]*`)
	}
}

func (e *globEmitter) one() {
	if e.paths {
		e.out.WriteString(`[^/]`)
		return
	}
	e.out.WriteByte('.')
}

func (e *globEmitter) either(n globNode, first, closed bool) {
	e.out.WriteString(`(?:`)
	for i, alternative := range n.either {
		if i > 0 {
			e.out.WriteByte('|')
		}
		e.sequence(alternative, first, closed)
	}
	e.out.WriteByte(')')
}

func (e *globEmitter) class(n globNode) {
	before := e.out.Len()
	e.out.WriteByte('[')
	if n.negated {
		e.out.WriteByte('^')
		if e.paths {
			e.out.WriteByte('/')
		}
	}
	for _, r := range n.ranges {
		if e.paths && !n.negated && r.low <= '/' && '/' <= r.high {
			e.span(r.low, '/'-1)
			e.span('/'+1, r.high)
			continue
		}
		e.span(r.low, r.high)
	}
	if e.out.Len() == before+1 {
		e.empty = n.at
	}
	e.out.WriteByte(']')
}

func (e *globEmitter) span(low, high rune) {
	if low <= high {
		fmt.Fprintf(&e.out, `\x{%x}-\x{%x}`, low, high)
	}
}
