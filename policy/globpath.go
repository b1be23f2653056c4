package policy

import "strings"

// cleanNodes brings a path pattern into the form of a cleaned path: no empty and
// no "." segment, no slash at the end. relative says that the pattern began with
// "./". A ".." is refused: no cleaned path has one.
func cleanNodes(field string, nodes []globNode) (clean []globNode, relative bool, err *InvalidError) {
	for i, n := range nodes {
		startsSegment := i == 0 || nodes[i-1].kind == globSlash
		endsSegment := i == len(nodes)-1 || nodes[i+1].kind == globSlash
		whole := n.kind == globText && startsSegment && endsSegment
		switch {
		case whole && n.text == "..":
			return nil, false, invalid(field, `".." never matches: paths are cleaned before they are compared`).at(n.at)
		case whole && n.text == ".":
			relative = relative || i == 0
		case n.kind == globSlash && endsWithSlash(clean), n.kind == globSlash && i > 0 && len(clean) == 0:
		default:
			clean = append(clean, n)
		}
	}
	if len(clean) > 1 && endsWithSlash(clean) {
		clean = clean[:len(clean)-1]
	}
	if len(clean) == 0 {
		clean = []globNode{{kind: globText, text: "."}}
	}
	return clean, relative, nil
}

func endsWithSlash(nodes []globNode) bool {
	return len(nodes) > 0 && nodes[len(nodes)-1].kind == globSlash
}

// mayBeAbsolute reports whether a path that begins with a slash can match. A *
// at the beginning does not count, although it may stand for nothing.
func mayBeAbsolute(nodes []globNode) bool {
	for _, n := range nodes {
		switch n.kind {
		case globSlash, globDeep:
			return true
		case globEither:
			nothing := false
			for _, alternative := range n.either {
				if mayBeAbsolute(alternative) {
					return true
				}
				nothing = nothing || len(alternative) == 0
			}
			if !nothing {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// literalText is the text of a pattern that has nothing but text.
func literalText(nodes []globNode) (string, bool) {
	var text strings.Builder
	for _, n := range nodes {
		switch n.kind {
		case globSlash:
			text.WriteByte('/')
		case globText:
			text.WriteString(n.text)
		default:
			return "", false
		}
	}
	return text.String(), true
}

// treePattern is the directory of a pattern of the form dir/**.
func treePattern(nodes []globNode) (dir string, ok bool) {
	last := len(nodes) - 1
	if last < 1 || nodes[last].kind != globDeep || nodes[last-1].kind != globSlash {
		return "", false
	}
	return literalText(nodes[:last-1])
}
