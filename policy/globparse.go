package policy

import (
	"strings"
	"unicode/utf8"
)

// globSpecials are the characters that make a pattern more than its text.
const globSpecials = "*?[{"

// maxGlobDepth bounds how deeply {…} may nest.
const maxGlobDepth = 16

type globKind uint8

const (
	globText   globKind = iota // text without a slash
	globSlash                  // one slash
	globStar                   // *
	globDeep                   // **
	globOne                    // ?
	globClass                  // [...]
	globEither                 // {a,b}
)

// globNode is one part of a parsed glob.
type globNode struct {
	kind    globKind
	at      int // place in the pattern, from 1
	text    string
	ranges  []runeRange
	negated bool
	either  [][]globNode
}

type runeRange struct{ low, high rune }

type globParser struct {
	field   string
	pattern string
	pos     int
	depth   int
}

func parseGlob(field, pattern string) ([]globNode, *InvalidError) {
	p := &globParser{field: field, pattern: pattern}
	return p.sequence()
}

// literalNodes is the parsed form of a pattern without special characters.
func literalNodes(pattern string) []globNode {
	var nodes []globNode
	for i := 0; i < len(pattern); i++ {
		nodes = appendChar(nodes, pattern[i:i+1], i+1)
	}
	return nodes
}

// appendChar adds literal text: a slash stands alone, other text grows.
func appendChar(nodes []globNode, char string, at int) []globNode {
	if char == "/" {
		return append(nodes, globNode{kind: globSlash, at: at})
	}
	if last := len(nodes) - 1; last >= 0 && nodes[last].kind == globText {
		nodes[last].text += char
		return nodes
	}
	return append(nodes, globNode{kind: globText, text: char, at: at})
}

func (p *globParser) fail(at int, message string) *InvalidError {
	return invalid(p.field, "%s", message).at(at)
}

// sequence reads up to the end, or within braces up to the next , or }.
func (p *globParser) sequence() ([]globNode, *InvalidError) {
	var nodes []globNode
	for p.pos < len(p.pattern) {
		c, at := p.pattern[p.pos], p.pos+1
		if p.depth > 0 && (c == ',' || c == '}') {
			break
		}
		var special globNode
		var err *InvalidError
		switch c {
		case '*':
			special = globNode{kind: p.stars(), at: at}
		case '?':
			p.pos++
			special = globNode{kind: globOne, at: at}
		case '[':
			special, err = p.class()
		case '{':
			special, err = p.either()
		default:
			var char string
			if char, err = p.char(); err == nil {
				nodes = appendChar(nodes, char, at)
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, special)
	}
	return nodes, nil
}

func (p *globParser) stars() globKind {
	start := p.pos
	for p.pos < len(p.pattern) && p.pattern[p.pos] == '*' {
		p.pos++
	}
	if p.pos-start > 1 {
		return globDeep
	}
	return globStar
}

// char reads one character, or an escape.
func (p *globParser) char() (string, *InvalidError) {
	rest := p.pattern[p.pos:]
	if rest == `\` {
		return "", p.fail(p.pos+1, `nothing follows the last \`)
	}
	if rest[0] == '\\' && strings.IndexByte(`*?[]{},!^-\`, rest[1]) >= 0 {
		p.pos += 2
		return rest[1:2], nil
	}
	_, size := utf8.DecodeRuneInString(rest)
	p.pos += size
	return rest[:size], nil
}

func (p *globParser) either() (globNode, *InvalidError) {
	node := globNode{kind: globEither, at: p.pos + 1}
	if p.depth++; p.depth > maxGlobDepth {
		return node, p.fail(node.at, "{ nests too deeply")
	}
	defer func() { p.depth-- }()
	for {
		p.pos++
		alternative, err := p.sequence()
		if err != nil {
			return node, err
		}
		node.either = append(node.either, alternative)
		if p.pos == len(p.pattern) {
			return node, p.fail(node.at, "{ is not closed")
		}
		if p.pattern[p.pos] == '}' {
			p.pos++
			return node, nil
		}
	}
}

// next steps over text if it comes next.
func (p *globParser) next(text string) bool {
	if !strings.HasPrefix(p.pattern[p.pos:], text) {
		return false
	}
	p.pos += len(text)
	return true
}
