package telegramfake

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Entity is a formatted part of a text; offset and length are in UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// htmlTags maps each tag of core.telegram.org/bots/api#html-style to its entity.
var htmlTags = map[string]string{
	"a": "text_link", "b": "bold", "strong": "bold", "i": "italic", "em": "italic",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "u": "underline", "ins": "underline",
	"tg-spoiler": "spoiler", "span": "spoiler", "tg-emoji": "custom_emoji", "tg-time": "date_time",
	"code": "code", "pre": "pre", "blockquote": "blockquote",
}

type openTag struct {
	name   string
	attrs  map[string]string
	at     int // bytes in the source
	offset int // UTF-16 units in the text
}

// htmlParser turns a source into its visible text and entities.
type htmlParser struct {
	source   string
	pos      int
	text     strings.Builder
	units    int
	open     []openTag
	entities []Entity
}

// parseHTML follows the open Bot API server; errors are its descriptions.
func parseHTML(source string) (string, []Entity, error) {
	p := &htmlParser{source: source}
	for p.pos < len(source) {
		if err := p.step(); err != nil {
			return "", nil, badRequest("can't parse entities: " + err.Error())
		}
	}
	if n := len(p.open); n > 0 {
		return "", nil, badRequest(fmt.Sprintf("can't parse entities: Can't find end tag corresponding to start tag %q", p.open[n-1].name))
	}
	return p.text.String(), p.entities, nil
}

func (p *htmlParser) step() error {
	switch p.source[p.pos] {
	case '&':
		p.entity()
	case '<':
		if strings.HasPrefix(p.source[p.pos:], "</") {
			return p.endTag()
		}
		return p.startTag()
	default:
		_, size := utf8.DecodeRuneInString(p.source[p.pos:])
		p.write(p.source[p.pos : p.pos+size])
		p.pos += size
	}
	return nil
}

func (p *htmlParser) write(s string) {
	s = strings.Map(cleanRune, s)
	p.text.WriteString(s)
	p.units += unitsOf(s)
}

// entity reads &lt; &gt; &amp; &quot; and numeric references; any other & stands
// for itself.
func (p *htmlParser) entity() {
	end := strings.IndexByte(p.source[p.pos:], ';')
	if end > 1 && end < 12 {
		name := p.source[p.pos+1 : p.pos+end]
		if name[0] == '#' || isOneOf(name, "lt gt amp quot") {
			p.write(html.UnescapeString(p.source[p.pos : p.pos+end+1]))
			p.pos += end + 1
			return
		}
	}
	p.write("&")
	p.pos++
}

func (p *htmlParser) startTag() error {
	begin := p.pos
	end := strings.IndexByte(p.source[begin:], '>')
	if end < 0 {
		return fmt.Errorf("Unclosed start tag at byte offset %d", begin)
	}
	body := p.source[begin+1 : begin+end]
	name, rest, _ := strings.Cut(body, " ")
	name = strings.ToLower(name)
	if htmlTags[name] == "" {
		return fmt.Errorf("Unsupported start tag %q at byte offset %d", name, begin)
	}
	attrs := attributes(rest)
	if name == "span" && attrs["class"] != "tg-spoiler" {
		return fmt.Errorf("Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", begin)
	}
	p.open = append(p.open, openTag{name: name, attrs: attrs, at: begin, offset: p.units})
	p.pos = begin + end + 1
	return nil
}

func attributes(s string) map[string]string {
	attrs := map[string]string{}
	for _, word := range strings.Fields(s) {
		name, value, _ := strings.Cut(word, "=")
		attrs[strings.ToLower(name)] = html.UnescapeString(strings.Trim(value, `"'`))
	}
	return attrs
}

func (p *htmlParser) endTag() error {
	begin := p.pos
	end := strings.IndexByte(p.source[begin:], '>')
	if end < 0 {
		return fmt.Errorf("Unclosed end tag at byte offset %d", begin)
	}
	name := strings.ToLower(strings.TrimSpace(p.source[begin+2 : begin+end]))
	if len(p.open) == 0 {
		return fmt.Errorf("Unexpected end tag at byte offset %d", begin)
	}
	last := p.open[len(p.open)-1]
	if name != "" && name != last.name {
		return fmt.Errorf("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, last.name, name)
	}
	p.open = p.open[:len(p.open)-1]
	p.close(last)
	p.pos = begin + end + 1
	return nil
}

func (p *htmlParser) close(tag openTag) {
	e := Entity{Type: htmlTags[tag.name], Offset: tag.offset, Length: p.units - tag.offset, URL: tag.attrs["href"]}
	if e.Length > 0 && (e.Type != "text_link" || e.URL != "") {
		p.entities = append(p.entities, e)
	}
}

// tidy takes white space from both ends, as the server does after parsing, and
// moves the entities along.
func tidy(text string, entities []Entity) (string, []Entity) {
	left := strings.TrimLeftFunc(text, unicode.IsSpace)
	gone := unitsOf(text) - unitsOf(left)
	text = strings.TrimRightFunc(left, unicode.IsSpace)
	size := unitsOf(text)
	var kept []Entity
	for _, e := range entities {
		end := min(max(e.Offset+e.Length-gone, 0), size)
		e.Offset = min(max(e.Offset-gone, 0), size)
		if e.Length = end - e.Offset; e.Length > 0 {
			kept = append(kept, e)
		}
	}
	slices.SortStableFunc(kept, func(a, b Entity) int {
		return cmp.Or(a.Offset-b.Offset, b.Length-a.Length, strings.Compare(a.Type, b.Type))
	})
	return text, kept
}

// cleanRune drops carriage returns and U+2028 to U+202E and turns control
// characters into spaces.
func cleanRune(r rune) rune {
	switch {
	case r == '\r' || (r >= 0x2028 && r <= 0x202e):
		return -1
	case r < ' ' && r != '\n' && r != '\t':
		return ' '
	}
	return r
}

func unitsOf(s string) int { return len(utf16.Encode([]rune(s))) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
