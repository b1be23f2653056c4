// Package redact hides secrets in what people and logs are shown. Every
// surface uses the same function. It never touches what runs or what is
// hashed. It reads each byte a few times, whatever callers send: an agent must
// not buy much work with little text.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Mask stands where a secret was.
const Mask = "[hidden]"

// shortest is less than any secret that can be told by its shape.
const shortest = 6

// Text hides secrets inside a running text.
func Text(s string) string {
	if len(s) < shortest {
		return s
	}
	for _, find := range []finder{privateKey, urlCredentials, urlParameter, authHeader, knownToken} {
		s = hide(s, find)
	}
	return s
}

// JSON hides secrets in a JSON value and keeps everything else: the order of
// keys and the spelling of numbers. What is no JSON, or is nested deeper than
// any call may be, is hidden whole.
func JSON(raw json.RawMessage) json.RawMessage {
	c := copier{in: raw, out: make([]byte, 0, len(raw)+len(raw)/16)}
	if !json.Valid(raw) || c.value(false, 0) != nil {
		return json.RawMessage(`"` + Mask + `"`)
	}
	return c.out
}

// maxDepth bounds the recursion, well beyond the 64 levels of a call.
const maxDepth = 1000

var errDepth = errors.New("nested too deep")

// copier copies valid JSON without the blanks between its tokens.
type copier struct {
	in, out []byte
	at      int
}

// next skips blanks and gives the byte that follows them.
func (c *copier) next() byte {
	for c.in[c.at] <= ' ' {
		c.at++
	}
	return c.in[c.at]
}

// value copies one value; hidden tells that it stands under a secret name.
func (c *copier) value(hidden bool, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch b := c.next(); {
	case b == '{':
		return c.nested('}', hidden, depth)
	case b == '[':
		return c.nested(']', hidden, depth)
	case b == '"' && hidden:
		c.literal()
		c.out = append(c.out, `"`+Mask+`"`...)
	case b == '"':
		c.text(c.literal())
	default:
		word := c.word()
		if hidden && (b == '-' || isDigit(b)) {
			word = []byte(`"` + Mask + `"`)
		}
		c.out = append(c.out, word...)
	}
	return nil
}

// nested copies an object or an array up to its end.
func (c *copier) nested(end byte, hidden bool, depth int) error {
	c.out = append(c.out, c.in[c.at])
	c.at++
	for c.next() != end {
		if c.in[c.at] == ',' {
			c.out = append(c.out, ',')
			c.at++
			c.next()
		}
		below := hidden
		if end == '}' {
			name := c.text(c.literal())
			below = hidden || Secret(name)
			c.next()
			c.out = append(c.out, ':')
			c.at++
		}
		if err := c.value(below, depth+1); err != nil {
			return err
		}
	}
	c.out = append(c.out, end)
	c.at++
	return nil
}

// word is a number, true, false or null.
func (c *copier) word() []byte {
	from := c.at
	for c.at < len(c.in) && c.in[c.at] > ' ' && c.in[c.at] != ',' && c.in[c.at] != ']' && c.in[c.at] != '}' {
		c.at++
	}
	return c.in[from:c.at]
}

// literal is a string with its quotes.
func (c *copier) literal() []byte {
	from := c.at
	for c.at++; c.in[c.at] != '"'; c.at++ {
		if c.in[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
	return c.in[from:c.at]
}

// text copies a string without its secrets, and gives it as it was.
func (c *copier) text(quoted []byte) (was string) {
	plain := isPlain(quoted)
	if plain {
		was = string(quoted[1 : len(quoted)-1])
	} else {
		_ = json.Unmarshal(quoted, &was) // it is valid
	}
	shown := Text(was)
	if plain && shown == was {
		c.out = append(c.out, quoted...)
		return was
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(shown) // a string always encodes
	c.out = append(c.out, bytes.TrimRight(out.Bytes(), "\n")...)
	return was
}

// isPlain tells whether a string is written as an encoder would write it.
func isPlain(quoted []byte) bool {
	for i, b := range quoted {
		if b == '\\' {
			return false
		}
		if b >= utf8.RuneSelf {
			rest := quoted[i:]
			return utf8.Valid(rest) && !bytes.ContainsAny(rest, "\\\u2028\u2029")
		}
	}
	return true
}
