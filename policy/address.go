package policy

import (
	"net/netip"
	"strings"
	"unicode"
)

// address is a URL taken apart (RFC 3986, and the URL Standard of WHATWG where both say
// the same). Its texts are in the one form in which they are compared.
type address struct {
	scheme string // in lower case
	host   string // in lower case, without a dot at the end
	port   string // "" for the scheme's own
	user   bool   // there is user information
	path   string // begins with a slash
	query  string // what follows ?, as it is
	anchor string // what follows #, as it is
}

// defaultPorts are the ports that an address of the scheme may leave out.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "ssh": "22", "git": "9418"}

// needsHost names the schemes after which readers skip slashes to find a host.
func needsHost(scheme string) bool {
	return scheme == "http" || scheme == "https" || scheme == "ws" || scheme == "wss" || scheme == "ftp"
}

// parseAddress takes a value apart. ok is false where readers of addresses differ, or
// where what they do depends on more than the value: relative references, backslashes,
// blanks and control characters, hosts that are not plainly a name or an IP address.
func parseAddress(text string) (a address, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if a.scheme = strings.ToLower(scheme); !found || !isScheme(a.scheme) || hasOddRune(text) {
		return a, false
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	tail, a.anchor, _ = strings.Cut(tail, "#")
	tail, a.query, _ = strings.Cut(tail, "?")
	if a.path, ok = addressPath(tail); !ok {
		return a, false
	}
	if i := strings.IndexByte(authority, '@'); i >= 0 {
		a.user, authority = true, authority[i+1:]
	}
	return a, a.setAuthority(authority)
}

func isScheme(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && (i == 0 || !isDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return text != ""
}

func hasOddRune(text string) bool {
	for _, r := range text {
		if r <= ' ' || r == '\\' || r >= 0x7f && (unicode.IsControl(r) || unicode.IsSpace(r)) {
			return true
		}
	}
	return false
}

// setAuthority reads host:port.
func (a *address) setAuthority(text string) (ok bool) {
	host, port := text, ""
	if end := strings.IndexByte(text, ']'); strings.HasPrefix(text, "[") && end > 0 {
		host, port = text[:end+1], text[end+1:]
	} else if i := strings.IndexByte(text, ':'); i >= 0 {
		host, port = text[:i], text[i:]
	}
	if a.host, ok = canonicalHost(host); !ok || a.host == "" && needsHost(a.scheme) {
		return false
	}
	if a.scheme == "file" && a.host == "localhost" {
		a.host = ""
	}
	a.port, ok = canonicalPort(a.scheme, port)
	return ok && (a.scheme != "file" || port == "") // file://c:/dir: a drive to some
}

// canonicalPort takes ":8080", or nothing.
func canonicalPort(scheme, text string) (port string, ok bool) {
	if text == "" || text == ":" {
		return "", true
	}
	digits := strings.TrimLeft(text[1:], "0")
	const longest = len("65535")
	if text[0] != ':' || strings.Trim(digits, "0123456789") != "" || len(digits) > longest || len(digits) == longest && digits > "65535" {
		return "", false
	}
	if digits == defaultPorts[scheme] {
		digits = ""
	}
	return digits, digits != "" || defaultPorts[scheme] != "" && strings.Trim(text[1:], "0") != ""
}

// canonicalHost is the form of a host in which it is compared: a name in lower case
// without a dot at the end, or an IP address. ok is false for what readers take in
// different ways: other characters than those of names, so also names that IDNA or an
// escape would change; numbers that some read as an IPv4 address; IPv6 addresses of
// IPv4 hosts.
func canonicalHost(text string) (host string, ok bool) {
	if strings.HasPrefix(text, "[") {
		return canonicalIPv6(text)
	}
	host = strings.ToLower(strings.TrimSuffix(text, "."))
	if host == "" {
		return "", text == ""
	}
	last, dot := host, true
	for i := range len(host) {
		switch c := host[i]; {
		case c == '.':
			if dot {
				return "", false
			}
			last, dot = host[i+1:], true
		case isLetter(c) || isDigit(c) || c == '-' || c == '_':
			dot = false
		default:
			return "", false
		}
	}
	if dot {
		return "", false
	}
	if isNumber(last) {
		_, err := netip.ParseAddr(host)
		return host, err == nil
	}
	return host, true
}

// isNumber reports whether the last label of a host makes it an IPv4 address.
func isNumber(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, hexDigits) == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func canonicalIPv6(text string) (host string, ok bool) {
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil || !ip.Is6() || ip.Zone() != "" || ip.Is4In6() || text != "["+strings.Trim(text, "[]")+"]" {
		return "", false
	}
	return "[" + ip.String() + "]", true
}
