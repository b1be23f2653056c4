package upstream

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// lastID numbers requests over all upstreams of the process, so that an id or a
// progress token of one call is never taken for that of another.
var lastID atomic.Int64

const tokenPrefix = "holm-"

// flight is one request on its way to an upstream.
type flight struct {
	id      int64
	method  string
	name    string // the thing named in Mcp-Name, for protocol 2026-07-28
	params  json.RawMessage
	headers map[string]string // Mcp-Param-*, for protocol 2026-07-28
	onEvent func(*message)    // progress and log messages; nil for none
	take    func(*message)    // set by the link: where messages for it go

	mu   sync.Mutex
	over bool
}

func newFlight(method string, params json.RawMessage) *flight {
	return &flight{id: lastID.Add(1), method: method, params: params}
}

// token is the progress token that belongs to the request.
func (f *flight) token() string { return tokenPrefix + strconv.FormatInt(f.id, 10) }

// body is the request as it goes over the wire.
func (f *flight) body() []byte {
	b := make([]byte, 0, len(f.params)+len(f.method)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, f.id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, f.method...)
	b = append(b, `","params":`...)
	b = append(b, f.params...)
	return append(b, '}')
}

// deliver hands an event to the caller, one at a time, never after land.
func (f *flight) deliver(m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over && f.onEvent != nil {
		f.onEvent(m)
	}
}

// land ends the delivery of events: what comes later is dropped.
func (f *flight) land() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// flights are the requests in flight on one link.
type flights struct {
	mu   sync.Mutex
	byID map[int64]*flight
}

func newFlights() *flights { return &flights{byID: map[int64]*flight{}} }

func (t *flights) add(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[f.id] = f
}

func (t *flights) remove(f *flight) {
	t.mu.Lock()
	delete(t.byID, f.id)
	t.mu.Unlock()
	f.land()
}

func (t *flights) get(id int64) *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

func (t *flights) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// byToken finds the flight of a progress notification; nil when it is over or
// the token is not one of ours.
func (t *flights) byToken(params json.RawMessage) *flight {
	token := ""
	_ = members(params, func(key string, value json.RawMessage) {
		if key == "progressToken" {
			token = unquote(value)
		}
	})
	digits, ours := strings.CutPrefix(token, tokenPrefix)
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ours || err != nil {
		return nil
	}
	return t.get(id)
}

// onlyCall is the one tool call in flight, nil when there are none or several:
// a line that names no request must not reach the wrong caller.
func (t *flights) onlyCall() *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	var only *flight
	for _, f := range t.byID {
		if f.method != methodCall {
			continue
		}
		if only != nil {
			return nil
		}
		only = f
	}
	return only
}
