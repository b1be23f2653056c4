package upstream

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
)

// maxForeignID is the longest id of a server's request that is repeated to it,
// in bytes.
const maxForeignID = 1 << 10

// router gives each message of an upstream to whom it is for.
type router struct {
	flights *flights
	changed func() // the tools list is another one
	skipped func() // a message that is for nobody
	notify  func(method string, params json.RawMessage)
	replies chan []byte // answers to requests of the server
	cancels chan []byte // cancellations of requests of ours
}

func newRouter(changed, skipped func(), notify func(string, json.RawMessage)) *router {
	return &router{
		flights: newFlights(), changed: changed, skipped: skipped, notify: notify,
		replies: make(chan []byte, 64), cancels: make(chan []byte, 256),
	}
}

// route handles all messages except the answer to own, the flight on whose
// stream m came; own is nil on a stream that all calls share.
func (r *router) route(m *message, own *flight) {
	switch {
	case m.isRequest():
		r.reply(m)
	case m.isResponse():
		r.response(m)
	case m.method == noteProgress:
		hand(r.flights.byToken(m.params), m)
	case m.method == noteLog && own != nil:
		hand(own, m)
	case m.method == noteLog:
		hand(r.flights.onlyCall(), m)
	case m.method == noteTools:
		r.changed()
	case m.isNotification() && strings.HasPrefix(m.method, notePrefix):
		r.notify(m.method, m.params)
	}
}

// hand drops m when its flight is over.
func hand(f *flight, m *message) {
	if f != nil && f.take != nil {
		f.take(m)
	}
}

func (r *router) response(m *message) {
	id, ok := m.number()
	f := r.flights.get(id)
	if !ok || f == nil {
		r.skipped() // also the late answer to a call that was given up
		return
	}
	hand(f, m)
}

// reply answers the server's own requests, so that it never waits for nothing:
// a ping as the specification asks, all else with "method not found", which is
// what a client that declared no capability says. A server that asks faster
// than it reads its answers loses some of them.
func (r *router) reply(m *message) {
	if isObject(m.id) || m.id[0] == '[' || len(m.id) > maxForeignID {
		r.skipped() // no id that the specification knows
		return
	}
	body := `{"jsonrpc":"2.0","id":` + string(m.id)
	if m.method == methodPing {
		body += `,"result":{}}`
	} else {
		body += `,"error":{"code":-32601,"message":"this client does not offer that method"}}`
	}
	select {
	case r.replies <- []byte(body):
	default:
		r.skipped()
	}
}

// cancelled tells the server that nobody waits for the request any more. Like
// a reply it is sent by sendNotes, so that the caller who left need not wait.
func (r *router) cancelled(id int64) {
	body := notification(noteCancelled, json.RawMessage(
		`{"requestId":`+strconv.FormatInt(id, 10)+`,"reason":"the caller no longer waits"}`))
	select {
	case r.cancels <- body:
	default:
		r.skipped()
	}
}

// sendNotes posts replies and cancellations until ctx ends.
func (r *router) sendNotes(ctx context.Context, post func(context.Context, []byte) error) {
	for {
		var body []byte
		select {
		case body = <-r.replies:
		case body = <-r.cancels:
		case <-ctx.Done():
			return
		}
		if post(ctx, body) != nil {
			r.skipped()
		}
	}
}
