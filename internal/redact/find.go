package redact

import "strings"

// finder gives the first secret in s at or after from, and what stands for it;
// start is negative when there is none.
type finder func(s string, from int) (start, end int, shown string)

// hide replaces all that find finds.
func hide(s string, find finder) string {
	var out strings.Builder
	at := 0
	for {
		start, end, shown := find(s, at)
		if start < 0 {
			break
		}
		out.WriteString(s[at:start])
		out.WriteString(shown)
		at = end
	}
	if at == 0 {
		return s
	}
	out.WriteString(s[at:])
	return out.String()
}

const none = -1

// privateKey finds the block of a private key, to its end or that of the text.
func privateKey(s string, from int) (start, end int, shown string) {
	start, after := keyLine(s, from, "-----BEGIN ")
	if start < 0 {
		return none, 0, ""
	}
	if _, end = keyLine(s, after, "-----END "); end <= after {
		end = len(s)
	}
	return start, end, Mask
}

// keyLine finds a line such as "-----BEGIN RSA PRIVATE KEY-----".
func keyLine(s string, from int, begin string) (start, end int) {
	for {
		i := strings.Index(s[from:], begin)
		if i < 0 {
			return none, 0
		}
		start = from + i
		from = start + len(begin)
		end = run(s, from, isCapital)
		if strings.HasSuffix(s[from:end], "PRIVATE KEY") && strings.HasPrefix(s[end:], "-----") {
			return start, end + len("-----")
		}
	}
}

// urlCredentials finds user:password@ behind the :// of an address.
func urlCredentials(s string, from int) (start, end int, shown string) {
	for {
		i := strings.Index(s[from:], "://")
		if i < 0 {
			return none, 0, ""
		}
		start = from + i
		from = start + len("://")
		user := run(s, from, isUser)
		if user == len(s) || s[user] != ':' {
			continue
		}
		rest := s[user+1 : run(s, user+1, isAuthority)]
		if at := strings.LastIndexByte(rest, '@'); at > 0 {
			return start, user + 1 + at + 1, "://" + Mask + "@"
		}
	}
}

// secretParameters end the names of parameters that hold secrets.
var secretParameters = []string{
	"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "accesskey", "access-key", "access_key", "signature",
}

// urlParameter finds the value behind ?token= and the like.
func urlParameter(s string, from int) (start, end int, shown string) {
	for at := from; ; {
		i := strings.IndexByte(s[at:], '=')
		if i < 0 {
			return none, 0, ""
		}
		equals := at + i
		name := equals
		for name > at && isName(s[name-1]) {
			name--
		}
		at = equals + 1
		if name <= from || s[name-1] != '?' && s[name-1] != '&' || !isSecretParameter(s[name:equals]) {
			continue
		}
		if end = run(s, at, isParameter); end > at {
			return at, end, Mask
		}
	}
}

func isSecretParameter(name string) bool {
	const longest = len("access-key")
	if strings.EqualFold(name, "sig") {
		return true
	}
	ending := strings.ToLower(name[max(0, len(name)-longest):])
	for _, secret := range secretParameters {
		if strings.HasSuffix(ending, secret) {
			return true
		}
	}
	return false
}

// authHeader finds what follows bearer or basic.
func authHeader(s string, from int) (start, end int, shown string) {
	for i := from; i < len(s); i++ {
		if s[i]|0x20 != 'b' || i > 0 && isWord(s[i-1]) {
			continue
		}
		for _, scheme := range []string{"bearer", "basic"} {
			if len(s)-i < len(scheme) || !strings.EqualFold(s[i:i+len(scheme)], scheme) {
				continue
			}
			blank := i + len(scheme)
			value := run(s, blank, isSpace)
			end := run(s, value, isCredential)
			if value > blank && end-value >= 8 {
				return value, run(s, end, func(b byte) bool { return b == '=' }), Mask
			}
			i = blank - 1
		}
	}
	return none, 0, ""
}

// run is where the bytes of a kind that begin at from end.
func run(s string, from int, of func(byte) bool) int {
	for from < len(s) && of(s[from]) {
		from++
	}
	return from
}

func isDigit(b byte) bool      { return b >= '0' && b <= '9' }
func isUpper(b byte) bool      { return b >= 'A' && b <= 'Z' }
func isCapital(b byte) bool    { return isUpper(b) || b == ' ' }
func isAlnum(b byte) bool      { return isDigit(b) || isUpper(b) || b >= 'a' && b <= 'z' }
func isWord(b byte) bool       { return isAlnum(b) || b == '_' }
func isDash(b byte) bool       { return isWord(b) || b == '-' }
func isName(b byte) bool       { return isDash(b) || b == '.' }
func isSpace(b byte) bool      { return b == ' ' || b >= '\t' && b <= '\r' && b != '\v' }
func isAuthority(b byte) bool  { return b != '/' && !isSpace(b) }
func isUser(b byte) bool       { return isAuthority(b) && b != ':' && b != '@' }
func isParameter(b byte) bool  { return !isSpace(b) && b != '&' && b != '#' && b != '"' && b != '\'' }
func isCredential(b byte) bool { return isName(b) || b == '~' || b == '+' || b == '/' }
func isKeyID(b byte) bool      { return isUpper(b) || isDigit(b) }
