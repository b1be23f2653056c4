package upstreamfixture

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// HTTP is the fixture as a Streamable HTTP endpoint. Modes may change while it
// serves.
type HTTP struct {
	core *core

	mu         sync.Mutex
	sessions   map[string]*state
	streams    map[string]chan string
	opened     int
	deleted    int
	listening  int
	kept       map[string]string // answers kept for Last-Event-ID
	headers    []http.Header
	redirectTo string
}

// NewHTTP makes the handler.
func NewHTTP(opts Options) *HTTP {
	return &HTTP{
		core: newCore(opts), sessions: map[string]*state{},
		streams: map[string]chan string{"": make(chan string, 16)}, kept: map[string]string{},
	}
}

// SetModes replaces the modes.
func (h *HTTP) SetModes(modes ...string) {
	h.core.mu.Lock()
	defer h.core.mu.Unlock()
	h.core.modes = modes
}

// RedirectTo sets where the mode Redirect points.
func (h *HTTP) RedirectTo(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.redirectTo = url
}

// ExpireSessions forgets all sessions, as a restart of the server does.
func (h *HTTP) ExpireSessions() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.sessions)
}

// Counts tells how many sessions were opened and deleted, and how many GET
// streams were asked for.
func (h *HTTP) Counts() (opened, deleted, listening int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened, h.deleted, h.listening
}

// Headers are the headers of all requests so far.
func (h *HTTP) Headers() []http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]http.Header(nil), h.headers...)
}

func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.headers = append(h.headers, r.Header.Clone())
	h.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.mu.Lock()
		h.deleted++
		delete(h.sessions, r.Header.Get("Mcp-Session-Id"))
		h.mu.Unlock()
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if h.refuses(w, r, body) {
		return
	}
	if bytes.Contains(body, []byte(`"method":"initialize"`)) {
		h.open(w, body)
		return
	}
	s := h.find(w, r)
	if s == nil {
		return
	}
	if !bytes.Contains(body, []byte(`"id":`)) || bytes.Contains(body, []byte(`"id":"ask-`)) {
		h.core.handle(&peer{func(string) {}, h.onStream(r.Header.Get("Mcp-Session-Id")), s}, body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.answer(w, r, s, body)
}

// refuses answers as the modes say; handshakes pass where the mode is about calls.
func (h *HTTP) refuses(w http.ResponseWriter, r *http.Request, body []byte) bool {
	isCall := bytes.Contains(body, []byte(`"method":"tools/call"`))
	for _, status := range []int{401, 403, 404, 429, 500, 502} {
		if h.core.is(fmt.Sprint(status)) {
			http.Error(w, http.StatusText(status), status)
			return true
		}
	}
	switch {
	case h.core.is(Redirect):
		h.mu.Lock()
		defer h.mu.Unlock()
		http.Redirect(w, r, h.redirectTo, http.StatusTemporaryRedirect)
	case h.core.is(EchoSecret):
		http.Error(w, "bad request with "+r.Header.Get("Authorization"), http.StatusBadRequest)
	case h.core.is(HTML):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<html><body>Please log in</body></html>")
	case isCall && h.core.is(Accepted):
		appendLine(h.core.opts.Log, []byte("accepted"))
		w.WriteHeader(http.StatusAccepted)
	case h.core.is(Modern) && r.Header.Get("Mcp-Method") == "" && !bytes.Contains(body, []byte(`"initialize"`)):
		http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"header mismatch"}}`, http.StatusBadRequest)
	default:
		return false
	}
	return true
}

func (h *HTTP) open(w http.ResponseWriter, body []byte) {
	var out string
	take := func(s string) { out = s }
	h.core.handle(&peer{take, take, newState()}, body)
	w.Header().Set("Content-Type", "application/json")
	if h.core.is(Modern) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, out)
		return
	}
	h.mu.Lock()
	h.opened++
	id := fmt.Sprintf("session-%d", h.opened)
	h.sessions[id] = newState()
	h.streams[id] = make(chan string, 16)
	h.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", id)
	_, _ = io.WriteString(w, out)
}

// find is the session of a request; a modern request brings its own.
func (h *HTTP) find(w http.ResponseWriter, r *http.Request) *state {
	if h.core.is(Modern) {
		return newState()
	}
	h.mu.Lock()
	s := h.sessions[r.Header.Get("Mcp-Session-Id")]
	h.mu.Unlock()
	if s != nil {
		return s
	}
	if h.core.is(SessionIn400) {
		http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, http.StatusBadRequest)
		return nil
	}
	http.Error(w, "session not found", http.StatusNotFound)
	return nil
}

// onStream sends to the GET stream of a session.
func (h *HTTP) onStream(session string) func(string) {
	return func(message string) {
		h.mu.Lock()
		stream := h.streams[session]
		h.mu.Unlock()
		select {
		case stream <- message:
		default:
		}
	}
}

func sse(message string) string {
	return "event: message\ndata: " + strings.ReplaceAll(message, "\n", " ") + "\n\n"
}
