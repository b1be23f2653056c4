package policy

import "strings"

// A deny or require_approval row sees a value in every spelling in which a receiver may
// read it: 5000.0, 5e3 and " 5000" are 5000, "False" is false. An allow row sees the
// value as it is written.

// textVerdict judges a text: as it is, and if that differs, in its other spellings. Another
// spelling that matches makes the text one that cannot be judged, so that no allow row
// gets wider.
func (c *condition) textVerdict(text string) verdict {
	v := c.matcher.match(text)
	if v == differs && c.otherSpelling(text) {
		return unjudged
	}
	return v
}

// otherSpelling reports whether a text that differs as it is matches in another spelling.
func (c *condition) otherSpelling(text string) bool { return c.otherScalar(text) || c.listedIn(text) }

// scalarVerdict is textVerdict for a number, true, false or null.
func (c *condition) scalarVerdict(raw string) verdict {
	if _, ok := c.matcher.(addressMatcher); ok {
		return differs // no reader makes an address of it
	}
	v := c.matcher.match(raw)
	if v == differs && c.otherScalar(raw) {
		return unjudged
	}
	return v
}

// otherScalar reports whether a number or a truth value matches in another spelling.
func (c *condition) otherScalar(text string) bool {
	if c.truth != noTruth {
		return truthOf(text) != c.truth.opposite()
	}
	if word := trimmed(text); word != text || strings.ToLower(word) != word {
		if word = strings.ToLower(word); (word == "true" || word == "false") && c.matcher.match(word) != differs {
			return true
		}
	}
	return mayBeNumber(text) && c.otherNumber(text)
}

// otherNumber compares the value with a pattern that is a number, and tries other
// spellings with one that has wildcards.
func (c *condition) otherNumber(text string) bool {
	for _, n := range numbersIn(text) {
		if n.huge {
			return true
		}
		if _, exact := c.matcher.(exactText); exact {
			if n.equals(c.number) {
				return true
			}
			continue
		}
		for _, spelling := range n.spellings() {
			if c.matcher.match(spelling) != differs {
				return true
			}
		}
	}
	return false
}

// listedIn reports whether a text is JSON of a list, or of a text, with an element that
// matches: many servers read lists from text.
func (c *condition) listedIn(text string) bool {
	value := strings.Trim(text, " \t\r\n")
	if value == "" || value[0] != '[' && value[0] != '"' || checkJSON("", value) != nil {
		return false
	}
	return c.listed(value)
}

func (c *condition) listed(value string) bool {
	switch value[0] {
	case '{':
		return false
	case '"':
		return c.textVerdict(unquote(value)) != differs
	case '[':
		for cursor := inside(value); ; {
			element, ok := cursor.element()
			if !ok || c.listed(element) {
				return ok
			}
		}
	}
	return c.scalarVerdict(value) != differs
}

// truth is what a text says when it is read as a truth value.
type truth uint8

const (
	noTruth truth = iota
	isTrue
	isFalse
)

func (t truth) opposite() truth {
	if t == isTrue {
		return isFalse
	}
	return isTrue
}

// truthOf reads the words that YAML, pydantic and others take for truth values. Nothing,
// as text or null, is false.
func truthOf(text string) truth {
	switch strings.ToLower(trimmed(text)) {
	case "true", "t", "yes", "y", "on":
		return isTrue
	case "false", "f", "no", "n", "off", "null", "":
		return isFalse
	}
	for _, n := range numbersIn(text) {
		switch {
		case n.digits == "":
			return isFalse
		case n.equals(one):
			return isTrue
		}
	}
	return noTruth
}

// exactTruth is the truth value that a pattern without wildcards names.
func exactTruth(pattern string) truth {
	switch strings.ToLower(pattern) {
	case "true":
		return isTrue
	case "false":
		return isFalse
	}
	return noTruth
}

// mayBeJSON reports whether a text could be read as JSON that is no number or word.
func mayBeJSON(text string) bool {
	text = trimmed(text)
	return text != "" && (text[0] == '[' || text[0] == '{' || text[0] == '"')
}

// mayBeList reports whether a text in the place of a list could be read as several
// elements.
func mayBeList(text string) bool { return mayBeJSON(text) || strings.ContainsAny(text, ",\r\n") }
