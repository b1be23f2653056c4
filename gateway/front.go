package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"holm/internal/caught"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/intake"
	"holm/policy"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	// exchangeHeader names our exchange to the middleware behind the protocol
	// handler, which sees the headers of each request but not its context.
	exchangeHeader = "Holm-Exchange"
	// holdHeader lets a client say how long it will wait, e.g. "0s" or "2m".
	holdHeader = "Holm-Hold"
	// modernVersion is the first protocol version without sessions.
	modernVersion = "2026-07-28"
	// maxBody bounds a request (gateway.md, "Who is calling").
	maxBody = 4 << 20
	// maxHold bounds what holdHeader may ask for.
	maxHold = 10 * time.Minute
)

// ServeHTTP is the MCP endpoint.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.front.ServeHTTP(w, r) }

// serveMCP proves the key, checks the message as a whole, and hands it to the
// protocol handler of its era.
func (g *Gateway) serveMCP(w http.ResponseWriter, r *http.Request) {
	r.Header.Del(exchangeHeader)
	caller, err := g.authenticate(r)
	if err != nil {
		intake.LeaveUnread(w, r)
		refuse(w, err)
		return
	}
	visit, err := g.Intake.Enter(caller.KeyPrefix)
	if err != nil {
		intake.LeaveUnread(w, r)
		writeWireError(w, nil, notRead(err))
		return
	}
	defer visit.Leave()
	x := &exchange{ResponseWriter: w, request: r, log: g.Log, caller: caller, visit: visit, sessionID: r.Header.Get(sessionHeader)}
	if x.sessionID != "" {
		name, known, mine := g.sessions.enter(x.sessionID, caller.KeyPrefix)
		if known && !mine {
			refuse(w, fault.New(fault.Unauthenticated, "foreign_session", "this session was opened with another key"))
			return
		}
		if known {
			x.client = name
			defer g.sessions.leave(x.sessionID)
		}
	}
	switch r.Method {
	case http.MethodPost:
		g.post(x)
	case http.MethodGet:
		g.listen(x)
	case http.MethodDelete:
		g.sessions.remove(x.sessionID)
		g.stateful.ServeHTTP(w, r)
	default:
		g.stateful.ServeHTTP(w, r)
	}
}

func (g *Gateway) authenticate(r *http.Request) (identity.Caller, error) {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || key == "" {
		return identity.Caller{}, fault.New(fault.Unauthenticated, "no_key", "an access key is required: send it as Authorization: Bearer holm_sk_…")
	}
	addr, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		addr = r.RemoteAddr
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), databasePatience, errDatabase)
	defer cancel()
	caller, err := g.Keyring.Authenticate(ctx, strings.TrimSpace(key), addr)
	if db.IsUnavailable(err) || err != nil && context.Cause(ctx) == errDatabase {
		return identity.Caller{}, errDatabase
	}
	return caller, err
}

// databasePatience bounds the look at a key, the first thing that a call needs
// of the database: one that hangs is as good as away.
const databasePatience = 5 * time.Second

var errDatabase error = fault.New(fault.Unavailable, "database_unavailable", "Holm's database is not available; try again later")

// refuse answers what never becomes a JSON-RPC exchange.
func refuse(w http.ResponseWriter, err error) {
	if db.IsUnavailable(err) {
		err = errDatabase
	}
	status, text := http.StatusInternalServerError, "internal error"
	if f, ok := fault.As(err); ok {
		text = f.Message
		status = cmp.Or(map[fault.Kind]int{fault.Unauthenticated: http.StatusUnauthorized, fault.Forbidden: http.StatusForbidden, fault.NotFound: http.StatusNotFound,
			fault.Invalid: http.StatusBadRequest, fault.Unavailable: http.StatusServiceUnavailable}[f.Kind], status)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="holm"`)
	}
	http.Error(w, text, status)
}

func (g *Gateway) post(x *exchange) {
	body, m, wire := readMessage(x)
	if wire != nil {
		writeWireError(x.ResponseWriter, m.ID, wire)
		return
	}
	x.message = m
	r := x.request
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if r.Header.Get(versionHeader) >= modernVersion {
		x.sessionID = ""
		if err := g.openSession(r.Context(), x.holmSession()); err != nil {
			refuse(x.ResponseWriter, err)
			return
		}
	}
	id := g.exchanges.add(x)
	defer g.exchanges.remove(id)
	defer x.finish()
	r.Header.Set(exchangeHeader, id)

	if x.modern() {
		x.client = clientName(m.Meta["io.modelcontextprotocol/clientInfo"])
		g.stateless.ServeHTTP(x, r)
		return
	}
	if m.Method == "initialize" && x.sessionID == "" {
		x.first = func() { g.opened(x) }
	}
	g.stateful.ServeHTTP(x, r)
}

// opened registers the session that an initialize has made, before its client
// learns the id.
func (g *Gateway) opened(x *exchange) {
	if x.sessionID = x.Header().Get(sessionHeader); x.sessionID == "" {
		return // it was refused
	}
	g.sessions.add(x.sessionID, x.caller.KeyPrefix, clientName(x.message.Params["clientInfo"]))
	if err := g.openSession(x.request.Context(), x.holmSession()); err != nil {
		// The first request for approval stores it then.
		g.Log.Warn("a session could not be stored", "agent_id", x.caller.AgentID, "error", err)
	}
}

func clientName(info json.RawMessage) string {
	var c struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(info, &c) // no name is as good as an odd one
	return c.Name
}

// readMessage reads the one JSON-RPC message of a POST. Duplicate keys at any
// depth are refused: two readers of such a message may see different calls.
func readMessage(x *exchange) ([]byte, message, *wireError) {
	body, err := x.visit.Read(x.ResponseWriter, x.request, maxBody)
	if err != nil {
		return nil, message{}, notRead(err)
	}
	if !json.Valid(body) {
		return nil, message{}, &wireError{Code: codeParse, Message: "the request is no valid JSON"}
	}
	if trimmed := bytes.TrimSpace(body); trimmed[0] == '[' {
		return nil, message{}, &wireError{Code: codeInvalidRequest, Message: "batches are not supported: send one message in a request"}
	}
	if _, err := policy.ParseArgs(body); err != nil {
		return nil, message{}, &wireError{Code: codeInvalidRequest, Message: "the request cannot be used: " + err.Error()}
	}
	var m message
	fields := object(body)
	m.ID = fields["id"]
	if !exact(m.ID) {
		return nil, m, &wireError{Code: codeInvalidRequest, Message: "id: want a string, or a whole number below 2^53: another one would come back as a different number"}
	}
	_ = json.Unmarshal(fields["method"], &m.Method) // the protocol handler refuses an odd one
	m.Params = object(fields["params"])
	m.Meta = object(m.Params["_meta"])
	return body, m, nil
}

// exact tells whether the protocol handler, which reads a number as a float64 and
// keeps it as an integer, gives this id back as the same one.
func exact(id json.RawMessage) bool {
	var n float64
	if json.Unmarshal(id, &n) != nil {
		return len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') // no number, or one beyond all
	}
	return n == math.Trunc(n) && math.Abs(n) < 1<<53
}

// object reads a JSON object by exact names, unlike struct fields, which
// encoding/json also matches in other letter cases.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	// The codes of what was not read: the HTTP status is in them.
	codeTimeout    = -31408
	codeTooLarge   = -31413
	codeBusyCaller = -31429
	codeBusy       = -31503
)

// notRead says why a message was not read.
func notRead(err error) *wireError {
	f, ok := fault.As(err)
	if !ok {
		return errFailed
	}
	code := map[string]int64{intake.CodeTooSlow: codeTimeout, intake.CodeTooLarge: codeTooLarge,
		intake.CodeBusyCaller: codeBusyCaller, intake.CodeBusy: codeBusy}[f.Code]
	return &wireError{Code: cmp.Or(code, codeParse), Message: f.Message}
}

func writeWireError(w http.ResponseWriter, id json.RawMessage, e *wireError) {
	if id == nil {
		id = json.RawMessage("null")
	}
	status := http.StatusBadRequest
	switch e.Code {
	case codeTimeout, codeTooLarge, codeBusyCaller, codeBusy:
		status = int(-31000 - e.Code)
	case codeInternal:
		status = http.StatusInternalServerError
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": e})
}

// listen is the stream of a stateful session's own messages. It ends within a
// second of the revocation of its key.
func (g *Gateway) listen(x *exchange) {
	ctx, cancel := context.WithCancel(x.request.Context())
	defer cancel()
	x.request = x.request.WithContext(ctx)
	waiter := g.Hub.Wait(identity.KeysChanged)
	defer waiter.Close()
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	caught.Go(&watch, g.Log, "mcp stream", func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-g.closing:
				cancel()
				return
			case <-waiter.C:
			case <-time.After(time.Second):
			}
			if _, err := g.authenticate(x.request); err != nil && !errors.Is(err, errDatabase) && ctx.Err() == nil {
				cancel()
			}
		}
	})
	x.Header().Set("X-Accel-Buffering", "no")
	g.stateful.ServeHTTP(x.ResponseWriter, x.request)
}
