package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"holm/policy"
)

// inputSchema is what is read of a tool's JSON Schema.
type inputSchema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type        types  `json:"type"`
	Description string `json:"description"`
}

// types are the JSON types that a value may have; none says nothing.
type types []string

// UnmarshalJSON reads one type or a list of them; anything else says nothing.
func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	var list []string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		list = nil
	}
	*t = list
	return nil
}

func readSchema(raw json.RawMessage) (s inputSchema) {
	if json.Unmarshal(raw, &s) != nil {
		return inputSchema{} // an odd schema constrains nothing here
	}
	return s
}

// String lists the arguments as a person would type them.
func (s inputSchema) String() string {
	var parts []string
	for _, name := range s.names() {
		kind := strings.Join(s.Properties[name].Type, "|")
		if kind == "" {
			kind = "VALUE"
		}
		part := fmt.Sprintf("%s=%s", name, strings.ToUpper(kind))
		if !slices.Contains(s.Required, name) {
			part = "[" + part + "]"
		}
		parts = append(parts, part)
	}
	return VisibleLine(strings.Join(parts, " "))
}

// names are the arguments, the required ones first.
func (s inputSchema) names() []string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := slices.Contains(s.Required, names[i]), slices.Contains(s.Required, names[j])
		if a != b {
			return a
		}
		return names[i] < names[j]
	})
	return names
}

// readArgs reads the arguments of a call: a JSON object, or NAME=VALUE with
// values of the types that the tool declares.
func readArgs(text string, s inputSchema) (json.RawMessage, error) {
	raw := json.RawMessage("{}")
	var err error
	switch {
	case strings.HasPrefix(text, "{"):
		raw = json.RawMessage(text)
	case text != "":
		raw, err = readPairs(text, s)
	}
	if err != nil {
		return nil, err
	}
	if _, err := policy.ParseArgs(raw); err != nil {
		return nil, misusef("The arguments are no JSON object that can be used: %v.", err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, misusef("The arguments are no JSON object: %v.", err)
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			return nil, misusef("Argument %s is missing. The tool takes: %s", oneLine(name, maxName), oneLine(s.String(), maxText))
		}
	}
	return raw, nil
}

// readPairs reads NAME=VALUE NAME="A VALUE" NAME=[1,2].
func readPairs(text string, s inputSchema) (json.RawMessage, error) {
	var out bytes.Buffer
	given := map[string]bool{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, behind, ok := strings.Cut(text, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n\"'") {
			word, _ := firstWord(text)
			return nil, misusef("“%s” is no argument: write NAME=VALUE, or all arguments as one JSON object.", oneLine(word, maxName))
		}
		p, known := s.Properties[name]
		switch {
		case given[name]:
			return nil, misusef("Argument %s is there twice.", oneLine(name, maxName))
		case !known && len(s.Properties) > 0:
			return nil, misusef("The tool has no argument %s; it takes: %s", oneLine(name, maxName), oneLine(s.String(), maxText))
		}
		value, rest, err := readValue(name, behind, p.Type)
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("encode an argument's name: %w", err)
		}
		if len(given) > 0 {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
		given[name], text = true, rest
	}
	return slices.Concat([]byte("{"), out.Bytes(), []byte("}")), nil
}

// readValue takes one value off the text.
func readValue(name, text string, t types) (value json.RawMessage, rest string, err error) {
	if text != "" && strings.ContainsRune(`"'`, rune(text[0])) {
		word, rest, ok := unquote(text)
		if !ok {
			return nil, "", misusef("The quotes of argument %s are not closed, or something stands right behind them.", oneLine(name, maxName))
		}
		value, err := typed(name, word, t, true)
		return value, rest, err
	}
	if text != "" && (text[0] == '[' || text[0] == '{') && !isText(t) {
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&value); err != nil {
			return nil, "", misusef("Argument %s: want JSON, and this is none.", oneLine(name, maxName))
		}
		if rest = text[d.InputOffset():]; rest == "" || strings.ContainsRune(" \t\r\n", rune(rest[0])) {
			value, err = typed(name, string(value), t, false)
			return value, rest, err
		}
		return nil, "", misusef("Argument %s: something stands right behind its value.", oneLine(name, maxName))
	}
	at := strings.IndexAny(text, " \t\r\n")
	if at < 0 {
		at = len(text)
	}
	value, err = typed(name, text[:at], t, false)
	return value, text[at:], err
}

// unquote reads a quoted word as a shell does: within '…' everything is itself,
// within "…" a backslash takes the meaning from a quote and a backslash.
func unquote(text string) (word, rest string, ok bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			rest = text[i+1:]
			return b.String(), rest, rest == "" || strings.ContainsRune(" \t\r\n", rune(rest[0]))
		case c == '\\' && quote == '"' && i+1 < len(text) && strings.ContainsRune(`"\`, rune(text[i+1])):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// isText tells whether a value can be nothing but text.
func isText(t types) bool { return len(t) == 1 && t[0] == "string" }

// typed is a word as JSON of one of the types. What was quoted is text where
// text is allowed; else a word is what it looks like, and text as the last.
func typed(name, word string, t types, quoted bool) (json.RawMessage, error) {
	text := len(t) == 0 || slices.Contains(t, "string")
	if !quoted || !text {
		if kind := kindOf(word); kind != "" && !isText(t) && (len(t) == 0 || fits(kind, t)) {
			return json.RawMessage(word), nil
		}
	}
	if !text {
		return nil, misusef("Argument %s: want %s, not “%s”.", oneLine(name, maxName), strings.Join(t, " or "), oneLine(word, maxName))
	}
	value, err := json.Marshal(strings.ToValidUTF8(word, "\uFFFD"))
	if err != nil {
		return nil, fmt.Errorf("encode an argument: %w", err)
	}
	return value, nil
}

// kindOf is the JSON type of a word, empty for text and what is no JSON.
func kindOf(word string) string {
	if word == "" || !json.Valid([]byte(word)) {
		return ""
	}
	switch c := word[0]; {
	case c == '[':
		return "array"
	case c == '{':
		return "object"
	case word == "true" || word == "false":
		return "boolean"
	case word == "null":
		return "null"
	case c == '"':
		return ""
	case strings.ContainsAny(word, ".eE"):
		return "number"
	}
	return "integer"
}

func fits(kind string, t types) bool {
	return slices.Contains(t, kind) || kind == "integer" && slices.Contains(t, "number")
}
