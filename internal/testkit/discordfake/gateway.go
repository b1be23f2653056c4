package discordfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// session is what a socket may be resumed with: the events it was sent.
type session struct {
	id      string
	intents int
	events  []frame
	socket  *socket
}

type frame struct {
	Op   int    `json:"op"`
	Data any    `json:"d"`
	Seq  int    `json:"s,omitempty"`
	Type string `json:"t,omitempty"`
}

// socket is one connection to the gateway.
type socket struct {
	conn    *websocket.Conn
	writes  sync.Mutex
	session *session
}

func (k *socket) say(f frame) {
	k.writes.Lock()
	defer k.writes.Unlock()
	_ = k.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_ = k.conn.WriteJSON(f)
}

// drop closes the connection without a goodbye.
func (k *socket) drop() { _ = k.conn.NetConn().Close() }

func (k *socket) close(code int, text string) {
	_ = k.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
	k.drop()
}

const (
	directMessages = 1 << 12
	guildMessages  = 1 << 9
	privileged     = 1<<1 | 1<<8 | 1<<15
	// longest is what the gateway takes in one frame.
	longest = 4096
)

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("v") != "10" || q.Get("encoding") != "json" {
		s.t.Errorf("discordfake: the gateway was opened with %q", r.URL.RawQuery)
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := &socket{conn: conn}
	s.mu.Lock()
	s.sockets[k] = true
	closed := s.closed
	s.mu.Unlock()
	if !closed {
		k.say(frame{Op: 10, Data: map[string]any{"heartbeat_interval": s.opts.Heartbeat.Milliseconds()}})
		s.listen(k)
	}
	k.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, k)
	if k.session != nil && k.session.socket == k {
		k.session.socket = nil
	}
	s.notify()
}

func (s *Server) listen(k *socket) {
	for {
		_, body, err := k.conn.ReadMessage()
		if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
			s.mu.Lock()
			if k.session != nil { // such a goodbye ends the session
				delete(s.sessions, k.session.id)
			}
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
		var f struct {
			Op   int             `json:"op"`
			Data json.RawMessage `json:"d"`
		}
		if len(body) > longest || json.Unmarshal(body, &f) != nil {
			s.t.Errorf("discordfake: a frame of %d bytes that Discord would not take", len(body))
			k.close(4002, "Error while decoding payload.")
			return
		}
		if !s.take(k, f.Op, f.Data) {
			return
		}
	}
}

// take handles one frame; false ends the socket.
func (s *Server) take(k *socket, op int, data json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	switch op {
	case 1:
		s.heartbeats++
		if !s.muted {
			k.say(frame{Op: 11})
		}
		return true
	case 2:
		return s.identify(k, data)
	case 6:
		return s.resume(k, data)
	}
	s.t.Errorf("discordfake: a frame with op %d", op)
	k.close(4001, "Unknown opcode.")
	return false
}

func (s *Server) identify(k *socket, data json.RawMessage) bool {
	var id struct {
		Token      string            `json:"token"`
		Intents    *int              `json:"intents"`
		Properties map[string]string `json:"properties"`
	}
	if json.Unmarshal(data, &id) != nil || id.Intents == nil || id.Properties["os"] == "" {
		s.t.Errorf("discordfake: identify lacks something: %s", data)
		k.close(4002, "Error while decoding payload.")
		return false
	}
	switch {
	case k.session != nil:
		k.close(4005, "Already authenticated.")
		return false
	case id.Token != s.token || s.refuseToken:
		k.close(4004, "Authentication failed.")
		return false
	case *id.Intents&privileged != 0:
		k.close(4014, "Disallowed intent(s).")
		return false
	}
	s.starts++
	k.session = &session{id: "s" + s.next(), intents: *id.Intents, socket: k}
	s.sessions[k.session.id] = k.session
	s.tell(k.session, "READY", map[string]any{
		"v": 10, "session_id": k.session.id, "resume_gateway_url": "ws://" + s.addr + "/resume",
		"user":   map[string]any{"id": BotID, "username": "holm", "bot": true},
		"guilds": []any{}, "application": map[string]any{"id": AppID, "flags": 0},
	})
	return true
}

func (s *Server) resume(k *socket, data json.RawMessage) bool {
	var r struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	if json.Unmarshal(data, &r) != nil || r.Token != s.token || s.refuseToken {
		k.close(4004, "Authentication failed.")
		return false
	}
	had, ok := s.sessions[r.Session]
	if !ok {
		k.say(frame{Op: 9, Data: false})
		return true
	}
	if r.Seq > len(had.events) {
		k.close(4007, "Invalid seq.")
		return false
	}
	s.resumes++
	had.socket, k.session = k, had
	for _, f := range had.events[r.Seq:] {
		k.say(f)
	}
	s.tell(had, "RESUMED", map[string]any{})
	return true
}

// tell sends an event to one session, or keeps it for its next socket. The caller
// holds mu.
func (s *Server) tell(to *session, kind string, data any) {
	f := frame{Data: data, Seq: len(to.events) + 1, Type: kind}
	to.events = append(to.events, f)
	if to.socket != nil {
		to.socket.say(f)
	}
}

// dispatch sends an event to all sessions that want it. The caller holds mu.
func (s *Server) dispatch(kind string, intent int, data any) {
	for _, one := range s.sessions {
		if intent == 0 || one.intents&intent != 0 {
			s.tell(one, kind, data)
		}
	}
}

// WaitReady waits until n sessions have an open socket.
func (s *Server) WaitReady(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d sessions", n), func() bool { return s.live() >= n })
}

func (s *Server) live() int {
	n := 0
	for _, one := range s.sessions {
		if one.socket != nil {
			n++
		}
	}
	return n
}

// Starts and Resumes count sessions begun and taken up again, Heartbeats the
// signs of life.
func (s *Server) Starts() int { return s.count(&s.starts) }

// Resumes: see Starts.
func (s *Server) Resumes() int { return s.count(&s.resumes) }

func (s *Server) count(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

// WaitStarts waits until n sessions were begun, WaitResumes until n were resumed,
// WaitHeartbeats for n heartbeats.
func (s *Server) WaitStarts(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d starts", n), func() bool { return s.starts >= n })
}

// WaitResumes: see WaitStarts.
func (s *Server) WaitResumes(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d resumes", n), func() bool { return s.resumes >= n })
}

// WaitHeartbeats: see WaitStarts.
func (s *Server) WaitHeartbeats(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d heartbeats", n), func() bool { return s.heartbeats >= n })
}

func (s *Server) eachSocket(do func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		do(k)
	}
}

// Drop cuts all sockets off; their sessions stay.
func (s *Server) Drop() { s.eachSocket((*socket).drop) }

// Hang closes all sockets with a code. The code 4009 ends the sessions as well.
func (s *Server) Hang(code int) {
	if code == 4009 {
		s.Forget()
	}
	s.eachSocket(func(k *socket) { k.close(code, "on order") })
}

// Forget makes all sessions unknown.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// AskReconnect asks all sockets to come again.
func (s *Server) AskReconnect() { s.eachSocket(func(k *socket) { k.say(frame{Op: 7}) }) }

// AskHeartbeat asks all sockets for a heartbeat now.
func (s *Server) AskHeartbeat() { s.eachSocket(func(k *socket) { k.say(frame{Op: 1}) }) }

// Invalidate tells all sockets that their session is over.
func (s *Server) Invalidate() {
	s.Forget()
	s.eachSocket(func(k *socket) { k.say(frame{Op: 9, Data: false}) })
}

// Mute makes the gateway answer no heartbeats, or answer them again.
func (s *Server) Mute(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = on
}

// RevokeToken makes Discord refuse the bot's token from now on.
func (s *Server) RevokeToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuseToken = true
}
