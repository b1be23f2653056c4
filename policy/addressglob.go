package policy

import (
	"slices"
	"strings"
)

// addressMatcher judges addresses part by part, against any of several patterns.
type addressMatcher []*addressPattern

// addressPattern is one address with wildcards. A part that it does not name has to be
// absent for an allow row, and may be anything for the others.
type addressPattern struct {
	scheme matcher
	host   matcher
	port   matcher
	path   *slashMatcher
	query  matcher
	anchor matcher
}

func (m addressMatcher) match(text string) verdict {
	a, ok := parseAddress(text)
	if !ok {
		return unjudged
	}
	best := differs
	for _, p := range m {
		switch p.match(&a) {
		case matches:
			return matches
		case unjudged:
			best = unjudged
		}
	}
	return best
}

func (p *addressPattern) match(a *address) verdict {
	v := p.scheme.match(a.scheme)
	if v != differs {
		v = weaker(v, p.matchHost(a.host))
	}
	if v == differs {
		return differs
	}
	if a.user {
		v = unjudged
	}
	v = weaker(v, p.matchPort(a))
	v = weaker(v, p.matchPath(a.path))
	v = weaker(v, matchExtra(p.query, a.query))
	return weaker(v, matchExtra(p.anchor, a.anchor))
}

// weaker is what two parts say together: both have to match.
func weaker(a, b verdict) verdict {
	if a == differs || b == differs {
		return differs
	}
	return max(a, b)
}

// matchHost leaves it to patterns that name an IPv6 address to allow it: no wildcard
// stands for a colon.
func (p *addressPattern) matchHost(host string) verdict {
	v := p.host.match(host)
	if _, named := p.host.(exactText); v == matches && !named && strings.HasPrefix(host, "[") {
		return unjudged
	}
	return v
}

func (p *addressPattern) matchPort(a *address) verdict {
	switch {
	case p.port == nil && a.port == "":
		return matches
	case p.port == nil:
		return unjudged
	case a.port == "":
		return p.port.match(defaultPorts[a.scheme])
	}
	return p.port.match(a.port)
}

func (p *addressPattern) matchPath(path string) verdict {
	switch {
	case p.path != nil:
		return p.path.match(path)
	case path == "/":
		return matches
	}
	return unjudged
}

// matchExtra judges a query or a fragment.
func matchExtra(pattern matcher, text string) verdict {
	switch {
	case pattern != nil:
		v := pattern.match(text)
		if form, _ := unescaped(strings.ReplaceAll(text, "+", " ")); v == differs && form != text && pattern.match(form) != differs {
			return unjudged
		}
		return v
	case text == "":
		return matches
	}
	return unjudged
}

// compileAddress makes a matcher of a pattern with ://. Its parts are those of an
// address:
//
//   - scheme and host in any case; * and ** in a host are any text within the host;
//   - a port, if it is not the scheme's own; user information is refused;
//   - the path, from the first / on, as in other patterns with a /;
//   - the query, from the first ?, and the fragment, from the first #, in which * is any
//     text. So ? stands for one character in them alone.
//
// Braces are alternatives over parts too: https://docs.example.com/**{,?**} is any
// path, with or without a query.
func compileAddress(field, pattern string) (matcher, *InvalidError) {
	nodes, err := parseNodes(field, escapeIPv6(pattern))
	if err != nil {
		return nil, err
	}
	all, ok := expanded(nodes)
	if !ok {
		return nil, invalid(field, "has more than %d alternatives", maxAlternatives)
	}
	var m addressMatcher
	for _, nodes := range all {
		p, err := newAddressPattern(field, nodes)
		if err != nil {
			return nil, err
		}
		m = append(m, p)
	}
	return m, nil
}

// escapeIPv6 makes text of the brackets round an IPv6 address, which would be a class.
func escapeIPv6(pattern string) string {
	before, rest, _ := strings.Cut(pattern, "://[")
	host, after, ok := strings.Cut(rest, "]")
	if !ok || strings.Count(host, ":") < 2 {
		return pattern
	}
	return before + `://\[` + host + `\]` + after
}

// maxAlternatives is how many addresses one pattern may stand for.
const maxAlternatives = 64

// expanded resolves all braces.
func expanded(nodes []globNode) (all [][]globNode, ok bool) {
	all = [][]globNode{nil}
	for _, n := range nodes {
		endings := [][]globNode{{n}}
		if n.kind == globEither {
			endings = nil
			for _, alternative := range n.either {
				more, ok := expanded(alternative)
				if endings = append(endings, more...); !ok {
					return nil, false
				}
			}
		}
		if len(all)*len(endings) > maxAlternatives {
			return nil, false
		}
		var longer [][]globNode
		for _, start := range all {
			for _, end := range endings {
				longer = append(longer, slices.Concat(start, end))
			}
		}
		all = longer
	}
	return all, true
}
