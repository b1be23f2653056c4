package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// message is one JSON-RPC message from an upstream. Its raw parts are slices of
// the line or event it came in.
type message struct {
	id     json.RawMessage
	method string
	params json.RawMessage
	result json.RawMessage
	fault  json.RawMessage
	twice  bool // a member of the envelope occurs twice
	size   int  // in bytes
	// tooLong stands for an answer that was above the limit.
	tooLong error
}

func (m *message) isResponse() bool     { return m.method == "" && m.id != nil }
func (m *message) isRequest() bool      { return m.method != "" && !isNull(m.id) }
func (m *message) isNotification() bool { return m.method != "" && m.id == nil }

// number is the id of a response to a request of ours; ok is false for ids that
// this client never gives.
func (m *message) number() (id int64, ok bool) {
	id, err := strconv.ParseInt(string(m.id), 10, 64)
	return id, err == nil
}

var errNotRPC = errors.New("not a JSON-RPC message")

// parse reads a line or an event. Servers of protocol 2025-03-26 may send
// several messages as an array.
func parse(data []byte) ([]*message, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || (data[0] != '{' && data[0] != '[') || !valid(data) {
		return nil, errNotRPC
	}
	if data[0] == '{' {
		m, err := parseOne(data)
		return []*message{m}, err
	}
	var all []*message
	var bad error
	err := elements(data, func(value json.RawMessage) {
		m, err := parseOne(value)
		if err != nil {
			bad = err
			return
		}
		all = append(all, m)
	})
	return all, errors.Join(err, bad)
}

func parseOne(data []byte) (*message, error) {
	m := &message{size: len(data)}
	version := ""
	seen := map[string]bool{}
	err := members(data, func(key string, value json.RawMessage) {
		m.twice = m.twice || seen[key]
		seen[key] = true
		switch key {
		case "jsonrpc":
			version = unquote(value)
		case "id":
			m.id = value
		case "method":
			m.method = unquote(value)
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.fault = value
		}
	})
	if err != nil {
		return nil, err
	}
	if version != "2.0" || (m.method == "" && m.id == nil) {
		return nil, errNotRPC
	}
	return m, nil
}

// answer is what a response says: its result as sent, or the error. A response
// that is neither, or both, is an error: never a success that says nothing.
func (m *message) answer(server string, hide *redactor) (json.RawMessage, error) {
	switch {
	case m.tooLong != nil:
		return nil, &ResultError{server, m.tooLong.Error()}
	case m.twice:
		return nil, &ResultError{server, "it has the same member twice"}
	case m.fault != nil && m.result != nil:
		return nil, &ResultError{server, "it has both a result and an error"}
	case m.fault != nil:
		return nil, rpcError(server, m.fault, hide)
	case !isObject(m.result):
		return nil, &ResultError{server, "it has no result object"}
	}
	return m.result, nil
}

func rpcError(server string, fault json.RawMessage, hide *redactor) error {
	var code, text, data json.RawMessage
	err := members(fault, func(key string, value json.RawMessage) {
		switch key {
		case "code":
			code = value
		case "message":
			text = value
		case "data":
			data = value
		}
	})
	number, odd := strconv.ParseInt(string(code), 10, 64)
	if err != nil || odd != nil {
		return &ResultError{server, "its error has no code"}
	}
	if clean := hide.text(string(data)); clean != string(data) {
		data = nil // it repeats a secret of ours
	}
	return &RPCError{Code: number, Message: hide.text(unquote(text)), Data: data}
}
