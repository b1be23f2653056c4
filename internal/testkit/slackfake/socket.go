package slackfake

import (
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
