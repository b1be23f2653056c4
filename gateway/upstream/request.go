package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
)

// Request is any request but a tool call: resources, prompts, completions.
type Request struct {
	// Method is the JSON-RPC method. Handshakes and tools/call are not for it.
	Method string
	// Params is a JSON object, may be nil. Its members are sent as the bytes
	// they are; of _meta the same members stay behind as in CallRequest.Meta.
	Params json.RawMessage
	// OnProgress and OnLog are those of CallRequest.
	OnProgress func(params json.RawMessage)
	OnLog      func(params json.RawMessage)
}

// Request sends a request and returns the raw result object, byte-exact. Places,
// time-outs and errors are those of Call.
func (c *Client) Request(ctx context.Context, req Request) (json.RawMessage, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	return c.do(ctx, func(s *session, patience *patience) *flight {
		f := newFlight(req.Method, nil)
		f.name = req.name()
		f.params = req.params(f, s.hop)
		f.onEvent = hearer(req.OnProgress, req.OnLog, patience)
		return f
	})
}

func (r Request) check() error {
	switch r.Method {
	case "", methodInitialize, methodDiscover, methodCall, methodListen:
		return &InputError{"the method is not one that can be passed on"}
	}
	if strings.ContainsFunc(r.Method, func(c rune) bool {
		return (c|0x20 < 'a' || c|0x20 > 'z') && c != '/' && c != '_' && c != '-' && c != '.'
	}) {
		return &InputError{"the method has characters that no method has"}
	}
	return checkObject("params", r.Params)
}

// name is what Mcp-Name says in protocol 2026-07-28.
func (r Request) name() string {
	switch r.Method {
	case "prompts/get":
		return unquote(member(r.Params, "name", nil))
	case "resources/read":
		return unquote(member(r.Params, "uri", nil))
	}
	return ""
}

func (r Request) params(f *flight, hop json.RawMessage) json.RawMessage {
	var others bytes.Buffer
	_ = members(r.Params, func(key string, value json.RawMessage) {
		if key != "_meta" {
			writeMember(&others, key, value)
		}
	})
	var b bytes.Buffer
	b.WriteByte('{')
	b.Write(others.Bytes())
	writeMeta(&b, meta(member(r.Params, "_meta", nil), f, r.OnProgress != nil, hop))
	b.WriteByte('}')
	return b.Bytes()
}
