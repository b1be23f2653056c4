package upstreamfixture

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// answer runs a request and writes what it sends to the response.
func (h *HTTP) answer(w http.ResponseWriter, r *http.Request, s *state, body []byte) {
	var m incoming
	_ = json.Unmarshal(body, &m)
	p := &peer{notify: h.onStream(r.Header.Get("Mcp-Session-Id")), state: s}
	isCall := m.Method == "tools/call"
	switch {
	case m.Method == "subscriptions/listen":
		h.stream(w, r, "")
	case isCall && (h.core.is(DropStream) || h.core.is(Resume)):
		h.cut(w, p, body)
	case h.core.is(JSONAnswers):
		h.asJSON(w, p, body)
	default:
		h.asStream(w, p, body)
	}
}

func (h *HTTP) asStream(w http.ResponseWriter, p *peer, body []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex
	p.send = func(message string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, ": a comment\nno colon here\n"+sse(message))
		_ = http.NewResponseController(w).Flush()
	}
	h.core.handle(p, body)
}

// asJSON sends the response alone; notifications go to the GET stream.
func (h *HTTP) asJSON(w http.ResponseWriter, p *peer, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	p.send = func(message string) {
		if strings.Contains(message, `"id":`) {
			_, _ = io.WriteString(w, message)
			return
		}
		p.notify(message)
	}
	h.core.handle(p, body)
}

// cut runs the request and ends the stream before its answer, which it keeps
// for who comes back for it.
func (h *HTTP) cut(w http.ResponseWriter, p *peer, body []byte) {
	var kept string
	p.send = func(message string) { kept += sse(message) }
	h.core.handle(p, body)
	w.Header().Set("Content-Type", "text/event-stream")
	if !h.core.is(Resume) {
		_, _ = io.WriteString(w, ": the answer is lost\n\n")
		return
	}
	h.mu.Lock()
	id := fmt.Sprintf("event-%d", len(h.kept)+1)
	h.kept[id] = kept
	h.mu.Unlock()
	_, _ = io.WriteString(w, "id: "+id+"\nretry: 10\ndata:\n\n")
}

func (h *HTTP) get(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.listening++
	kept, resumed := h.kept[r.Header.Get("Last-Event-ID")]
	session := r.Header.Get("Mcp-Session-Id")
	known := h.sessions[session] != nil
	h.mu.Unlock()
	switch {
	case h.core.is(NoStream):
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
	case !known:
		http.Error(w, "session not found", http.StatusNotFound)
	case resumed:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, kept)
	default:
		h.stream(w, r, session)
	}
}

// stream sends what concerns a whole session until the client leaves.
func (h *HTTP) stream(w http.ResponseWriter, r *http.Request, session string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": open\n\n")
	_ = http.NewResponseController(w).Flush()
	if h.core.is(StreamCloses) {
		return
	}
	h.mu.Lock()
	messages := h.streams[session]
	h.mu.Unlock()
	for {
		select {
		case message := <-messages:
			_, _ = io.WriteString(w, sse(message))
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}
