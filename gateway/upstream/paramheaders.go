package upstream

import (
	"encoding/json"
	"strconv"
)

// paramHeaders are the arguments that the tool's schema asks for in headers
// (x-mcp-header, protocol 2026-07-28), named Mcp-Param-<name>.
func (c *Client) paramHeaders(req CallRequest) map[string]string {
	c.mu.Lock()
	tools := c.tools
	c.mu.Unlock()
	found := map[string]string{}
	for _, tool := range tools {
		if tool.Name == req.Tool {
			collectHeaders(member(tool.Raw, "inputSchema", nil), req.Arguments, found)
		}
	}
	return found
}

func collectHeaders(schema, arguments json.RawMessage, found map[string]string) {
	_ = members(member(schema, "properties", nil), func(key string, property json.RawMessage) {
		value := member(arguments, key, nil)
		if isNull(value) {
			return
		}
		name := unquote(member(property, "x-mcp-header", nil))
		if text, ok := primitive(value); ok && isToken(name) {
			found["Mcp-Param-"+name] = text
		}
		collectHeaders(property, value, found)
	})
}

// primitive is the header form of a string, a boolean or an integer that every
// receiver reads alike (SEP-2243).
func primitive(raw json.RawMessage) (string, bool) {
	const safe = 1<<53 - 1
	switch raw[0] {
	case '"':
		return unquote(raw), true
	case 't', 'f':
		return string(raw), true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != float64(int64(n)) || n > safe || n < -safe {
		return "", false
	}
	return strconv.FormatInt(int64(n), 10), true
}

// isToken tells whether s may stand in a header name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
