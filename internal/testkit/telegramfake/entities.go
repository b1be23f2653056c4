package telegramfake

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
)

// given is a text whose formatting is given beside it (#messageentity). Telegram
// drops or mends what it cannot use there; here it fails the test.
func (s *Server) given(c *request) (string, []Entity, error) {
	var raw []json.RawMessage
	var entities []Entity
	data := []byte(c.values["entities"])
	if json.Unmarshal(data, &raw) != nil || json.Unmarshal(data, &entities) != nil {
		return "", nil, badRequest("can't parse entities JSON object")
	}
	for _, e := range raw {
		s.checkFields("MessageEntity", e)
	}
	if c.values["parse_mode"] != "" {
		s.t.Errorf("telegramfake: %s: entities are ignored beside a parse_mode", c.method)
	}
	text := c.values["text"]
	if clean := strings.Map(cleanRune, text); clean != text {
		s.t.Errorf("telegramfake: %s: characters that Telegram drops or changes stand in a text with entities", c.method)
	}
	s.checkEntities(c.method, utf16.Encode([]rune(text)), entities)
	text, entities = tidy(text, entities)
	return text, entities, nil
}

// checkEntities wants bounds within the text that part no character, and one
// entity within another where they meet.
func (s *Server) checkEntities(method string, units []uint16, entities []Entity) {
	for i, e := range entities {
		end := e.Offset + e.Length
		switch {
		case e.Offset < 0 || e.Length <= 0 || end > len(units):
			s.t.Errorf("telegramfake: %s: entity %d (%s) spans %d to %d of %d units", method, i, e.Type, e.Offset, end, len(units))
			continue
		case partsCharacter(units, e.Offset) || partsCharacter(units, end):
			s.t.Errorf("telegramfake: %s: entity %d (%s) parts a character", method, i, e.Type)
		case !isOneOf(e.Type, "bold italic underline strikethrough spoiler blockquote expandable_blockquote code pre"):
			s.t.Errorf("telegramfake: %s: entity %d: the type %q is not played", method, i, e.Type)
		}
		for j, other := range entities {
			if i != j && meet(e, other) && !mayHold(e, other) && !mayHold(other, e) {
				s.t.Errorf("telegramfake: %s: entities %d (%s) and %d (%s) may not meet like this", method, i, e.Type, j, other.Type)
			}
		}
	}
}

// partsCharacter tells whether a bound stands within a pair of UTF-16 units.
func partsCharacter(units []uint16, at int) bool {
	return at < len(units) && units[at] >= 0xdc00 && units[at] <= 0xdfff
}

func meet(a, b Entity) bool { return a.Offset < b.Offset+b.Length && b.Offset < a.Offset+a.Length }

// mayHold tells whether in may stand within out, by the rules under
// #formatting-options: code and pre hold nothing, quotes no quotes. That they
// may stand in a quote is the open server's doing (are_entities_valid).
func mayHold(out, in Entity) bool {
	isCode := func(e Entity) bool { return isOneOf(e.Type, "code pre") }
	isQuote := func(e Entity) bool { return isOneOf(e.Type, "blockquote expandable_blockquote") }
	switch {
	case out.Offset > in.Offset || out.Offset+out.Length < in.Offset+in.Length:
		return false
	case isCode(out), isQuote(out) && isQuote(in), out.Type == in.Type:
		return false
	}
	return !isCode(in) || isQuote(out)
}
