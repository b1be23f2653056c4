package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// Bounds of a tools list. A server that goes beyond them is broken or hostile;
// what was read up to there is kept.
const (
	maxPages = 500
	maxTools = 10_000
)

// listing is a tools list in the making.
type listing struct {
	tools   []Tool
	names   map[string]bool
	cursors map[string]bool
	bytes   int
	warning string
}

// list reads all pages. warning tells what was left out, if anything was.
func (s *session) list(ctx context.Context, limit int) (tools []Tool, warning string, err error) {
	l := &listing{tools: []Tool{}, names: map[string]bool{}, cursors: map[string]bool{}}
	if isNull(member(s.terms.abilities, "tools", nil)) {
		return l.tools, "", nil
	}
	var cursor json.RawMessage
	for page := 0; page == 0 || l.another(page, cursor, limit); page++ {
		result, err := s.link.exchange(ctx, newFlight(methodList, s.listParams(cursor)))
		if err != nil {
			return nil, "", fmt.Errorf("reading the tools list: %w", err)
		}
		if err := l.add(result); err != nil {
			return nil, "", fmt.Errorf("reading the tools list: %w", err)
		}
		cursor = member(result, "nextCursor", nil)
	}
	return l.tools, l.warning, nil
}

func (s *session) listParams(cursor json.RawMessage) json.RawMessage {
	if cursor == nil {
		return s.params(nil)
	}
	return s.params(append([]byte(`"cursor":`), cursor...))
}

// another tells whether to fetch one more page. A cursor that was seen before
// means a server that goes in circles.
func (l *listing) another(page int, cursor json.RawMessage, limit int) bool {
	switch key := string(cursor); {
	case isNull(cursor) || key == `""`:
		return false
	case l.cursors[key]:
		l.warn("the list repeats its cursor and was cut there")
		return false
	case page >= maxPages || len(l.tools) >= maxTools || l.bytes > limit:
		l.warn("the list does not end and was cut after %d pages", page)
		return false
	default:
		l.cursors[key] = true
		return true
	}
}

// add takes the tools of a page. One that cannot be named, in a rule, on a card
// or in the database, is left out; the others stay.
func (l *listing) add(page json.RawMessage) error {
	err := elements(member(page, "tools", nil), func(raw json.RawMessage) {
		name := unquote(member(raw, "name", nil))
		switch {
		case name == "":
			l.warn("a tool without a name was left out")
		case strings.ContainsFunc(name, unicode.IsControl):
			l.warn("the tool named %.64q was left out: its name has a control character", name)
		case l.names[name]:
			l.warn("the second tool named %.64q was left out", name)
		case len(l.tools) < maxTools:
			l.names[name] = true
			l.bytes += len(raw)
			own := bytes.Clone(raw) // so that a small tool does not keep a large page alive
			l.tools = append(l.tools, Tool{Name: name, Raw: own, Digest: digest(own)})
		}
	})
	if err != nil {
		return fmt.Errorf("the tools are %w", err)
	}
	return nil
}

// warn keeps the first oddity.
func (l *listing) warn(format string, args ...any) {
	if l.warning == "" {
		l.warning = fmt.Sprintf(format, args...)
	}
}

func digest(raw json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		compact.Reset()
		compact.Write(raw)
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:])
}
