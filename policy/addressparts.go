package policy

import "strings"

// addressParts are the nodes of a pattern, by the parts of an address.
type addressParts struct {
	parts [addressPartCount][]globNode
	named [addressPartCount]bool // the pattern has the part, if only as empty text
	at    addressPart            // the part that is being read
}

type addressPart int

const (
	partScheme addressPart = iota
	partHost
	partPort
	partPath
	partQuery
	partAnchor
	addressPartCount
)

// splitAddress cuts a pattern without braces into parts.
func splitAddress(nodes []globNode) *addressParts {
	s := &addressParts{}
	for _, n := range nodes {
		switch n.kind {
		case globText:
			for _, char := range n.text {
				s.char(string(char), n)
			}
		case globSlash:
			s.char("/", n)
		case globOne:
			s.one(n)
		default:
			s.add(n)
		}
	}
	return s
}

func (s *addressParts) add(n globNode) { s.parts[s.at] = append(s.parts[s.at], n) }

func (s *addressParts) begin(part addressPart) { s.at, s.named[part] = part, true }

// one reads a ?, which begins the query.
func (s *addressParts) one(n globNode) {
	if s.at < partQuery {
		s.begin(partQuery)
		return
	}
	s.add(n)
}

func (s *addressParts) char(c string, n globNode) {
	switch {
	case s.at == partScheme && c == "/" && s.endsScheme():
		s.begin(partHost)
		return
	case s.at < partHost:
	case c == "#" && s.at < partAnchor:
		s.begin(partAnchor)
		return
	case c == "?" && s.at < partQuery:
		s.begin(partQuery)
		return
	case c == "/" && s.at < partPath:
		s.begin(partPath)
	case c == ":" && s.at == partHost && !s.inBrackets():
		s.begin(partPort)
		return
	}
	s.parts[s.at] = appendChar(s.parts[s.at], c, n.at)
}

// endsScheme takes :/ off the scheme, when another slash comes.
func (s *addressParts) endsScheme() bool {
	read := s.parts[partScheme]
	last := len(read) - 1
	if last < 1 || read[last].kind != globSlash || read[last-1].kind != globText || !strings.HasSuffix(read[last-1].text, ":") {
		return false
	}
	read[last-1].text = strings.TrimSuffix(read[last-1].text, ":")
	s.parts[partScheme] = read[:last]
	return true
}

// inBrackets reports whether an IPv6 address is being read.
func (s *addressParts) inBrackets() bool {
	host := s.parts[partHost]
	return len(host) == 1 && strings.HasPrefix(host[0].text, "[") && !strings.HasSuffix(host[0].text, "]")
}
