package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// upstream is the least an MCP server over HTTP can do: one tool for each size of
// result, answered from memory. What a call costs beyond it is the hop's.
type upstream struct {
	results map[string]string // by tool
}

// newUpstream has a tool bytes_<n> for each size.
func newUpstream(sizes []int) *upstream {
	u := &upstream{results: map[string]string{}}
	for _, n := range sizes {
		u.results[toolOf(n)] = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, strings.Repeat("x", n))
	}
	return u
}

func toolOf(bytes int) string { return fmt.Sprintf("bytes_%d", bytes) }

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	// All of the request is read first: a reverse proxy loses answers that begin
	// before it has sent the request to its end.
	body, err := io.ReadAll(r.Body)
	var m rpc
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "no JSON-RPC message", http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, ok := u.answer(m)
	if !ok {
		http.Error(w, "unknown method or tool", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

func (u *upstream) answer(m rpc) (string, bool) {
	switch m.Method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}`, true
	case "tools/list":
		var tools []string
		for name := range u.results {
			tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]}`, true
	case "tools/call":
		result, ok := u.results[m.Params.Name]
		return result, ok
	}
	return "", false
}
