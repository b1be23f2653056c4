package policy

import (
	"strings"
	"unicode/utf8"
)

func (p *globParser) class() (globNode, *InvalidError) {
	node := globNode{kind: globClass, at: p.pos + 1}
	if p.pos++; p.next("!") || p.next("^") {
		node.negated = true
	}
	for first := true; first || !p.next("]"); first = false {
		if strings.HasPrefix(p.pattern[p.pos:], "[:") {
			return node, p.fail(p.pos+1, "named classes such as [:alpha:] are not known")
		}
		r, err := p.classRange(node.at)
		if err != nil {
			return node, err
		}
		node.ranges = append(node.ranges, r)
	}
	return node, nil
}

func (p *globParser) classRange(opened int) (runeRange, *InvalidError) {
	at := p.pos + 1
	low, err := p.classRune(opened)
	if err != nil || !p.next("-") {
		return runeRange{low, low}, err
	}
	if strings.HasPrefix(p.pattern[p.pos:], "]") {
		p.pos-- // a - before ] is itself
		return runeRange{low, low}, nil
	}
	high, err := p.classRune(opened)
	if err == nil && high < low {
		err = p.fail(at, "the range ends before it begins")
	}
	return runeRange{low, high}, err
}

func (p *globParser) classRune(opened int) (rune, *InvalidError) {
	if p.pos == len(p.pattern) {
		return 0, p.fail(opened, "[ is not closed")
	}
	char, err := p.char()
	r, _ := utf8.DecodeRuneInString(char)
	return r, err
}
