package slackfake

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// mostSockets is how many an app may have open.
	mostSockets = 10
	// ackLimit is the size from which Slack drops what a client sends
	// (measured by slack-go).
	ackLimit = 20 * 1024
	// outbox is how many frames may wait for a slow client.
	outbox = 1024
)

// socket is one Socket Mode connection.
type socket struct {
	app     *app
	conn    *websocket.Conn
	out     chan any
	gone    chan struct{}
	leaving bool // it was told to go and gets nothing more
	silent  bool // half-open: it neither speaks nor listens
	pending map[string]*Delivery
}

// hangUp closes the connection under the socket, without a goodbye.
func (k *socket) hangUp() { _ = k.conn.NetConn().Close() }

// say queues a frame; a client that reads nothing is cut off.
func (k *socket) say(frame any) {
	select {
	case k.out <- frame:
	default:
		k.hangUp()
	}
}

func (s *Server) serveLink(w http.ResponseWriter, r *http.Request) {
	a := s.redeem(r.URL.Query().Get("ticket"))
	if a == nil {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, WriteBufferSize: 64 << 10}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := &socket{
		app: a, conn: conn, out: make(chan any, outbox), gone: make(chan struct{}),
		pending: make(map[string]*Delivery),
	}
	if !s.join(k) {
		k.hangUp()
		return
	}
	s.listen(k)
	close(k.gone)
	k.hangUp()
	s.leave(k)
}

// redeem takes a ticket, which works once and not for long.
func (s *Server) redeem(id string) *app {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tickets[id]
	delete(s.tickets, id)
	if !ok || s.now().Sub(t.made) > ticketLife {
		return nil
	}
	return t.app
}

// join greets a new socket and hands it what waited for one.
func (s *Server) join(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(func() { s.speak(k) })
	if len(k.app.sockets) >= mostSockets {
		k.leaving = true
		k.say(goodbye("too_many_websockets"))
	}
	k.app.sockets[k] = struct{}{}
	k.say(answer{
		"type": "hello", "num_connections": len(k.app.sockets),
		"connection_info": answer{"app_id": k.app.ID},
		"debug_info":      answer{"host": "applink-fake", "build_number": 1, "approximate_connection_time": 18060},
	})
	waiting := k.app.waiting
	k.app.waiting = nil
	for _, sent := range waiting {
		s.attempt(sent)
	}
	s.notify()
	return true
}

// speak writes frames and pings until the socket is gone.
func (s *Server) speak(k *socket) {
	pings := time.NewTicker(s.opts.PingInterval)
	defer pings.Stop()
	s.ping(k)
	for {
		select {
		case frame := <-k.out:
			if s.muted(k) {
				continue
			}
			_ = k.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if k.conn.WriteJSON(frame) != nil {
				k.hangUp()
			}
		case <-pings.C:
			s.ping(k)
		case <-k.gone:
			return
		}
	}
}

func (s *Server) ping(k *socket) {
	if !s.muted(k) {
		_ = k.conn.WriteControl(websocket.PingMessage, []byte("Ping from applink-fake"), time.Now().Add(time.Second))
	}
}

func (s *Server) muted(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.silent
}

// listen reads acknowledgements until the connection ends.
func (s *Server) listen(k *socket) {
	for {
		kind, data, err := k.conn.ReadMessage()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			s.t.Errorf("slackfake: a frame that is not text")
			continue
		}
		s.acknowledge(k, data)
	}
}

func (s *Server) acknowledge(k *socket, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || k.silent || len(data) >= ackLimit {
		return
	}
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(data, &ack) != nil || ack.EnvelopeID == "" {
		s.t.Errorf("slackfake: a frame that acknowledges nothing: %.200s", data)
		return
	}
	d := k.pending[ack.EnvelopeID]
	if d == nil {
		s.unexpectedAck(k, ack.EnvelopeID)
		return
	}
	if len(ack.Payload) > 0 && string(ack.Payload) != "null" && !d.acceptsPayload {
		s.t.Errorf("slackfake: an acknowledgement of %s carries a payload, which it must not", d.Type)
	}
	delete(k.pending, ack.EnvelopeID)
	s.acked(d)
}

// unexpectedAck tolerates what a well-made client may do: acknowledge twice or
// late, or on the socket that followed.
func (s *Server) unexpectedAck(k *socket, id string) {
	for _, sent := range s.sents {
		for _, d := range sent.deliveries {
			if d.EnvelopeID == id && sent.app == k.app {
				return
			}
		}
	}
	s.t.Errorf("slackfake: acknowledgement of the envelope %q, which was never sent", id)
}

// leave forgets a socket; what it did not acknowledge has failed.
func (s *Server) leave(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(k.app.sockets, k)
	pending := k.pending
	k.pending = map[string]*Delivery{}
	for _, d := range pending {
		if !s.closed {
			s.lost(d, "the socket closed")
		}
	}
	s.notify()
}

func goodbye(reason string) answer {
	return answer{"type": "disconnect", "reason": reason, "debug_info": answer{"host": "applink-fake"}}
}

// Disconnect sends app n's sockets a disconnect message with reason: "warning",
// "refresh_requested" or "link_disabled". All but a warning end the socket.
func (s *Server) Disconnect(n int, reason string) {
	s.eachSocket(n, func(k *socket) {
		k.leaving = k.leaving || reason != "warning"
		k.say(goodbye(reason))
	})
}

// HangUp closes app n's sockets without a word.
func (s *Server) HangUp(n int) { s.eachSocket(n, (*socket).hangUp) }

// GoSilent leaves app n's sockets half open: they send nothing, not even
// pings, and hear nothing.
func (s *Server) GoSilent(n int) {
	s.eachSocket(n, func(k *socket) { k.silent, k.leaving = true, true })
}

func (s *Server) eachSocket(n int, f func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.apps[n].sockets {
		f(k)
	}
}

// Sockets is how many sockets app n has open.
func (s *Server) Sockets(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.apps[n].sockets)
}

// WaitSockets waits until app n has as many sockets that may receive.
func (s *Server) WaitSockets(n, count int) {
	s.t.Helper()
	s.await("sockets of the app", func() bool { return len(s.apps[n].receivers()) == count })
}

// receivers are the sockets that may get an envelope.
func (a *app) receivers() []*socket {
	var open []*socket
	for k := range a.sockets {
		if !k.leaving {
			open = append(open, k)
		}
	}
	return open
}
