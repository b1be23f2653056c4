package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"holm/internal/caught"
	"holm/internal/identity"
	"holm/internal/intake"
)

// heartbeat is how often a waiting answer shows a sign of life, below the
// shortest idle limit of proxies and clients in use.
const heartbeat = 10 * time.Second

// progressEvery is how often a waiting call reports progress to a client that
// asked for it.
const progressEvery = 5 * time.Second

// exchange is one POST: what was asked, by whom, and the answer's stream. It
// wraps the ResponseWriter, so that signs of life and progress can be written
// between the events of the protocol handler, which itself sends nothing
// before its first event.
type exchange struct {
	http.ResponseWriter
	request *http.Request
	log     *slog.Logger
	caller  identity.Caller
	visit   *intake.Visit
	// client is what the client calls itself.
	client    string
	sessionID string
	message   message

	mu       sync.Mutex
	finished bool
	// first, if set, runs before anything of the answer is written.
	first func()
}

// message is the JSON-RPC message of an exchange, each part in the bytes that
// were sent.
type message struct {
	ID     json.RawMessage
	Method string
	Params map[string]json.RawMessage
	Meta   map[string]json.RawMessage
}

// WriteHeader passes the status on.
func (x *exchange) WriteHeader(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begin()
	x.ResponseWriter.WriteHeader(status)
}

// begin runs first, once; x.mu is held.
func (x *exchange) begin() {
	if first := x.first; first != nil {
		x.first = nil
		first()
	}
}

// Write passes an event on, whole.
func (x *exchange) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begin()
	return x.ResponseWriter.Write(b)
}

// Flush sends what was written.
func (x *exchange) Flush() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = http.NewResponseController(x.ResponseWriter).Flush()
}

// finish stops everything of ours before the handler returns: a ResponseWriter
// must not be used after that.
func (x *exchange) finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.finished = true
}

// emit writes a piece of the event stream of our own.
func (x *exchange) emit(b []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.finished {
		return
	}
	if _, err := x.ResponseWriter.Write(b); err == nil {
		_ = http.NewResponseController(x.ResponseWriter).Flush()
	}
}

// token is the client's progress token as it was sent, nil when there is none.
func (x *exchange) token() json.RawMessage { return x.message.Meta["progressToken"] }

// keepAlive sends the headers at once and signs of life until stopped; step is
// called for the text of each progress report.
func (x *exchange) keepAlive(text func() string) (stop func()) {
	ctx, cancel := context.WithCancel(x.request.Context())
	var done sync.WaitGroup
	caught.Go(&done, x.log, "signs of life", func() {
		x.emit([]byte(": waiting for approval\n\n"))
		alive, report := time.NewTicker(heartbeat), time.NewTicker(progressEvery)
		defer alive.Stop()
		defer report.Stop()
		for step := 1; ; {
			select {
			case <-ctx.Done():
				return
			case <-alive.C:
				x.emit([]byte(": waiting for approval\n\n"))
			case <-report.C:
				if x.token() != nil {
					x.progress(map[string]any{"progress": step, "message": text()})
					step++
				}
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// progress sends a report of our own.
func (x *exchange) progress(params map[string]any) {
	raw, err := json.Marshal(params)
	if err == nil {
		x.relayProgress(raw)
	}
}

// relayProgress sends a report under the client's token, other members as they
// came.
func (x *exchange) relayProgress(params json.RawMessage) {
	params = bytes.TrimSpace(params)
	if x.token() == nil || len(params) < 2 || params[0] != '{' {
		return
	}
	var b bytes.Buffer
	b.WriteString("event: message\ndata: ")
	b.WriteString(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`)
	b.Write(x.token())
	if rest := bytes.TrimSpace(params[1:]); rest[0] != '}' {
		b.WriteByte(',')
	}
	b.Write(oneLine(params[1:]))
	b.WriteString("}\n\n")
	x.emit(b.Bytes())
}

// oneLine keeps an event's data on one line: between the tokens of JSON a line
// end means no more than a blank, and inside strings there is none.
func oneLine(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}
