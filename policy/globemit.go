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

// sequence writes nodes; first and last say whether they stand at the beginning
// and at the end of the whole pattern.
func (e *globEmitter) sequence(nodes []globNode, first, last bool) {
	for i := 0; i < len(nodes); i++ {
		atStart, atEnd := first && i == 0, last && i == len(nodes)-1
		switch n := nodes[i]; n.kind {
		case globText:
			e.out.WriteString(regexp.QuoteMeta(n.text))
		case globSlash:
			i += e.slash(nodes[i+1:], atStart, last)
		case globDeep:
			i += e.deep(nodes[i+1:], atStart)
		case globStar:
			e.star(i == 0 && !first || i > 0 && nodes[i-1].kind != globSlash, nodes[i+1:], last)
		case globOne:
			e.one()
		case globClass:
			e.class(n)
		case globEither:
			e.either(n, atStart, atEnd)
		}
	}
}

// slash writes a slash, and with it a ** that ends the pattern: dir/** is dir too.
func (e *globEmitter) slash(rest []globNode, atStart, last bool) (taken int) {
	if !last || len(rest) != 1 || rest[0].kind != globDeep {
		e.out.WriteByte('/')
		return 0
	}
	if atStart {
		e.out.WriteString(`/.*`)
	} else {
		e.out.WriteString(`(?:/.*)?`)
	}
	return 1
}

// deep writes **, and with it the slash after one that begins the pattern:
// **/name is name too.
func (e *globEmitter) deep(rest []globNode, atStart bool) (taken int) {
	if e.paths && atStart && len(rest) > 1 && rest[0].kind == globSlash {
		e.out.WriteString(`(?:.*/)?`)
		return 1
	}
	e.out.WriteString(`.*`)
	return 0
}

// star writes *; inWord says that it does not begin a segment.
func (e *globEmitter) star(inWord bool, rest []globNode, last bool) {
	fills := !inWord && (len(rest) == 0 && last || len(rest) > 0 && rest[0].kind == globSlash)
	switch {
	case !e.paths:
		e.out.WriteString(`.*`)
	case fills:
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

func (e *globEmitter) either(n globNode, first, last bool) {
	e.out.WriteString(`(?:`)
	for i, alternative := range n.either {
		if i > 0 {
			e.out.WriteByte('|')
		}
		e.sequence(alternative, first, last)
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
