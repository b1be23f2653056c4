package upstream

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// protocolModern is the first sessionless revision: no initialize, everything
// a server must know of the client is in each request.
const protocolModern = "2026-07-28"

const metaPrefix = "io.modelcontextprotocol/"

// hopKeys are the _meta members that speak of one hop, not of the call: those
// of the caller end here and ours take their place.
var hopKeys = map[string]bool{
	"progressToken":                   true,
	metaPrefix + "protocolVersion":    true,
	metaPrefix + "clientInfo":         true,
	metaPrefix + "clientCapabilities": true,
}

// hopMeta is what each request says of this client, as JSON object members.
func hopMeta(clientInfo json.RawMessage) json.RawMessage {
	return json.RawMessage(`"` + metaPrefix + `protocolVersion":"` + protocolModern + `","` +
		metaPrefix + `clientInfo":` + string(clientInfo) + `,"` +
		metaPrefix + `clientCapabilities":{}`)
}

func listenParams(hop json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"notifications":{"toolsListChanged":true},"_meta":{` + string(hop) + `}}`)
}

// nameRequest sets the headers by which front ends route without reading the
// body; they must say what the body says.
func nameRequest(h http.Header, f *flight) {
	h.Set("Mcp-Method", f.method)
	if f.name != "" {
		h.Set("Mcp-Name", headerValue(f.name))
	}
	for name, value := range f.headers {
		h.Set(name, headerValue(value))
	}
}

// headerValue writes what a header cannot hold as =?base64?...?=, the form of
// the specification (SEP-2243).
func headerValue(s string) string {
	const start, end = "=?base64?", "?="
	plain := s == strings.TrimSpace(s) && !(strings.HasPrefix(s, start) && strings.HasSuffix(s, end))
	for _, c := range []byte(s) {
		plain = plain && c >= 0x20 && c < 0x7f
	}
	if plain {
		return s
	}
	return start + base64.StdEncoding.EncodeToString([]byte(s)) + end
}
