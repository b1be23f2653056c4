package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

var (
	errNotObject = errors.New("not a JSON object")
	errNotArray  = errors.New("not a JSON array")
)

// members calls visit for each member of a JSON object in order, with the value
// as the bytes it was written in. data must be valid JSON: valid has seen it. encoding/json is not used for this because it matches names without
// regard to case and keeps the last of two equal ones without a word.
func members(data []byte, visit func(key string, value json.RawMessage)) error {
	i := space(data, 0)
	if i >= len(data) || data[i] != '{' {
		return errNotObject
	}
	i = space(data, i+1)
	for data[i] != '}' {
		end := valueEnd(data, i)
		key := unquote(data[i:end])
		i = space(data, space(data, end)+1) // over the colon
		end = valueEnd(data, i)
		visit(key, data[i:end:end])
		i = next(data, end)
	}
	return nil
}

// elements is members for a JSON array.
func elements(data []byte, visit func(value json.RawMessage)) error {
	i := space(data, 0)
	if i >= len(data) || data[i] != '[' {
		return errNotArray
	}
	i = space(data, i+1)
	for data[i] != ']' {
		end := valueEnd(data, i)
		visit(data[i:end:end])
		i = next(data, end)
	}
	return nil
}

// next goes over white space and one comma.
func next(data []byte, i int) int {
	i = space(data, i)
	if data[i] == ',' {
		i = space(data, i+1)
	}
	return i
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is the index behind the value that starts at i.
func valueEnd(data []byte, i int) int {
	switch data[i] {
	case '"':
		return stringEnd(data, i)
	case '{', '[':
		return nestedEnd(data, i)
	}
	for i < len(data) {
		switch data[i] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return i
		}
		i++
	}
	return i
}

func stringEnd(data []byte, i int) int {
	for i = plainRun(data, i+1); data[i] != '"'; i = plainRun(data, i+2) {
		// a backslash and what it escapes
	}
	return i + 1
}

func nestedEnd(data []byte, i int) int {
	depth := 0
	for {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			i = stringEnd(data, i) - 1
		}
		i++
	}
}

// unquote reads a JSON string; it is empty for anything else.
func unquote(raw []byte) string {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isObject tells whether raw, valid JSON, is an object.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[space(raw, 0)] == '{' }

// isNull tells whether raw is absent or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" }
