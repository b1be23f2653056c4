package policy

import (
	"strings"
	"unicode/utf8"
)

// addressPath brings the path of an address into the form in which it is compared:
// escapes that stand for themselves are decoded, "." and ".." segments removed after
// RFC 3986, section 5.2.4, never above the root. ok is false for escapes of what is no
// Unicode.
func addressPath(text string) (clean string, ok bool) {
	if strings.IndexByte(text, '%') >= 0 {
		text = decodedPlain(text)
		if !utf8.ValidString(text) {
			return "", false
		}
	}
	switch {
	case text == "":
		return "/", true
	case strings.Contains(text, "/."):
		return removedDots(text), true
	}
	return text, true
}

// decodedPlain decodes the escapes that are the same text decoded (RFC 3986, section
// 2.3): letters, digits, - . _ ~ and what is not ASCII.
func decodedPlain(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c, ok := escapedByte(text[i:])
		if !ok || !isLetter(c) && !isDigit(c) && strings.IndexByte("-._~", c) < 0 && c < utf8.RuneSelf {
			out.WriteByte(text[i])
			continue
		}
		out.WriteByte(c)
		i += 2
	}
	return out.String()
}

func removedDots(text string) string {
	var kept []string
	segments := strings.Split(text[1:], "/")
	for i, segment := range segments {
		switch segment {
		case ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, segment)
			continue
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
