package policy

import "strings"

// newAddressPattern compiles a pattern without braces.
func newAddressPattern(field string, nodes []globNode) (p *addressPattern, err *InvalidError) {
	s, p := splitAddress(nodes), &addressPattern{}
	scheme, err := s.scheme(field)
	if err != nil {
		return nil, err
	}
	if p.scheme, err = compilePlain(field, scheme); err != nil {
		return nil, err
	}
	if p.host, err = s.host(field); err != nil {
		return nil, err
	}
	if p.port, err = s.port(field); err != nil {
		return nil, err
	}
	if s.named[partPath] {
		if p.path, err = newSlashMatcher(field, plainDecoded(s.parts[partPath])); err != nil {
			return nil, err
		}
	}
	if s.named[partQuery] {
		if p.query, err = compilePlain(field, s.parts[partQuery]); err != nil {
			return nil, err
		}
	}
	if s.named[partAnchor] {
		p.anchor, err = compilePlain(field, s.parts[partAnchor])
	}
	return p, err
}

func (s *addressParts) scheme(field string) ([]globNode, *InvalidError) {
	nodes := lowered(s.parts[partScheme])
	for _, n := range nodes {
		if n.kind == globSlash || n.kind == globText && !isScheme("a"+n.text) {
			return nil, invalid(field, "what stands before :// is no scheme of an address, such as https; for other text use a regular expression").at(n.at)
		}
	}
	if text, ok := literalText(nodes); !s.named[partHost] || ok && !isScheme(text) {
		return nil, invalid(field, "want an address such as https://docs.example.com/** where a pattern has ://").at(1)
	}
	return nodes, nil
}

func (s *addressParts) host(field string) (matcher, *InvalidError) {
	nodes := lowered(s.parts[partHost])
	scheme, _ := literalText(lowered(s.parts[partScheme]))
	if text, ok := literalText(nodes); ok {
		host, ok := canonicalHost(text)
		switch {
		case strings.Contains(text, "@"):
			return nil, s.refuseUser(field)
		case !ok:
			return nil, invalid(field, "%q is no host in plain form: want a name in ASCII (others begin with xn--) or an IP address", clip(text)).at(nodes[0].at)
		case host == "" && needsHost(scheme):
			return nil, invalid(field, "names no host after ://").at(len(scheme) + 1)
		case scheme == "file" && host == "localhost":
			host = ""
		}
		return exactText(host), nil
	}
	for i, n := range nodes {
		if strings.Contains(n.text, "@") {
			return nil, s.refuseUser(field)
		}
		if n.kind == globText && strings.Trim(n.text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return nil, invalid(field, "%q is in no host name in ASCII", clip(n.text)).at(n.at)
		}
		if i == len(nodes)-1 {
			nodes[i].text = strings.TrimSuffix(n.text, ".")
		}
	}
	return compilePlain(field, nodes)
}

func (s *addressParts) refuseUser(field string) *InvalidError {
	return invalid(field, "names a user before @: an address with one is never allowed by a glob, and denied and asked about without it; allow it by a regular expression").at(s.parts[partHost][0].at)
}

// port returns nil for the scheme's own.
func (s *addressParts) port(field string) (matcher, *InvalidError) {
	nodes := s.parts[partPort]
	text, ok := literalText(nodes)
	switch {
	case text == "" && ok:
		return nil, nil
	case !ok:
		return compilePlain(field, nodes)
	}
	if strings.Contains(text, "@") {
		return nil, s.refuseUser(field)
	}
	if _, ok := canonicalPort("", ":"+text); !ok {
		return nil, invalid(field, "%q is no port", clip(text)).at(nodes[0].at)
	}
	return exactText(strings.TrimLeft(text, "0")), nil
}

// lowered is a copy in lower case.
func lowered(nodes []globNode) []globNode {
	var out []globNode
	for _, n := range nodes {
		n.text = strings.ToLower(n.text)
		out = append(out, n)
	}
	return out
}

// plainDecoded is a copy in the form of addressPath.
func plainDecoded(nodes []globNode) []globNode {
	var out []globNode
	for _, n := range nodes {
		n.text = decodedPlain(n.text)
		out = append(out, n)
	}
	return out
}
