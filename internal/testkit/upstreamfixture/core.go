package upstreamfixture

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
)

// incoming is a message as it arrived; raw members are the bytes that came.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// peer is whom a message came from: where answers go, where notifications
// outside calls go, and the session it belongs to.
type peer struct {
	send, notify func(string)
	*state
}

// state is that of one session.
type state struct {
	mu      sync.Mutex
	user    string
	cancels map[string]chan struct{}
	answers map[string]chan struct{}
}

func newState() *state {
	return &state{cancels: map[string]chan struct{}{}, answers: map[string]chan struct{}{}}
}

// core is the server behind both transports.
type core struct {
	opts Options

	mu    sync.Mutex
	modes []string
	added bool
}

func newCore(opts Options) *core { return &core{opts: opts, modes: opts.Modes} }

func (c *core) is(mode string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.modes, mode)
}

// appendLine appends a line to a file in one write, so that lines of parallel calls
// do not mix.
func appendLine(path string, line []byte) {
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(append([]byte(nil), line...), '\n'))
}

func result(id json.RawMessage, body string) string {
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + body + `}`
}

func failure(id json.RawMessage, code, message string) string {
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":` + code + `,"message":"` + message + `","data":{"big":9007199254740993}}}`
}

// handle answers one message; calls run as long as they take.
func (c *core) handle(p *peer, raw []byte) {
	appendLine(c.opts.Trace, raw)
	var m incoming
	if json.Unmarshal(raw, &m) != nil {
		p.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
		return
	}
	switch {
	case m.Method == "":
		p.answered(string(m.ID))
	case m.Method == "notifications/cancelled":
		p.cancelled(m.Params)
	case len(m.ID) > 0:
		c.answer(p, m)
	}
}

func (c *core) answer(p *peer, m incoming) {
	switch m.Method {
	case "initialize":
		c.initialize(p, m)
	case "server/discover":
		p.send(c.discover(m))
	case "tools/list":
		p.send(result(m.ID, c.list(m.Params)))
	case "tools/call":
		c.call(p, m)
	case "prompts/get":
		p.send(result(m.ID, ExactPrompt))
	case "ping":
		c.ping(p, m)
	default:
		p.send(failure(m.ID, "-32601", "method not found"))
	}
}

func (c *core) ping(p *peer, m incoming) {
	switch {
	case c.is(BlackHole):
	case c.is(DeafCalls):
		p.send(failure(m.ID, "-32601", "method not found"))
	default:
		p.send(result(m.ID, `{}`))
	}
}

func (s *state) answered(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting := s.answers[strings.Trim(id, `"`)]; waiting != nil {
		close(waiting)
		delete(s.answers, strings.Trim(id, `"`))
	}
}

func (s *state) cancelled(params json.RawMessage) {
	var which struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &which)
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.cancels[string(which.RequestID)]; stop != nil {
		close(stop)
		delete(s.cancels, string(which.RequestID))
	}
}
