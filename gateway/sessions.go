package gateway

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"holm/internal/session"
)

// idleTimeout ends stateful MCP sessions that nobody uses.
const idleTimeout = 30 * time.Minute

// mcpSession is one stateful MCP connection: whose key opened it, and what its
// client calls itself.
type mcpSession struct {
	keyPrefix  string
	clientName string
	used       time.Time
	inFlight   int
}

// sessionTable knows the stateful sessions of this process.
type sessionTable struct {
	mu   sync.Mutex
	byID map[string]*mcpSession
	// left receives after a use of a session has ended.
	left chan struct{}
	// stored are the sessions of keys that have their row.
	stored sync.Map
}

func newSessionTable() *sessionTable {
	return &sessionTable{byID: map[string]*mcpSession{}, left: make(chan struct{}, 1)}
}

func (t *sessionTable) add(id, keyPrefix, clientName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[id] = &mcpSession{keyPrefix: keyPrefix, clientName: clientName, used: time.Now()}
}

func (t *sessionTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// enter notes the use of a session until leave. known is false for an id this
// process never gave; mine is false when another key opened it.
func (t *sessionTable) enter(id, keyPrefix string) (clientName string, known, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil {
		return "", false, false
	}
	if s.keyPrefix != keyPrefix {
		return "", true, false
	}
	s.inFlight++
	return s.clientName, true, true
}

func (t *sessionTable) leave(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.byID[id]; s != nil {
		s.inFlight--
		s.used = time.Now()
	}
	select {
	case t.left <- struct{}{}:
	default:
	}
}

// run closes idle sessions through the protocol's own handler until ctx ends,
// and then all, each once its last answer is out: the protocol's handler drops
// the answers of a session that is closed.
func (t *sessionTable) run(ctx context.Context, protocol http.Handler) {
	for {
		select {
		case <-ctx.Done():
			t.drain(context.WithoutCancel(ctx), protocol)
			return
		case now := <-time.After(time.Minute):
			idle := func(s *mcpSession) bool { return s.inFlight == 0 && now.Sub(s.used) > idleTimeout }
			for _, id := range t.take(idle) {
				closeSession(ctx, protocol, id)
			}
		}
	}
}

// drain closes all sessions. It relies on the HTTP server to end requests that
// would go on for ever.
func (t *sessionTable) drain(ctx context.Context, protocol http.Handler) {
	for {
		for _, id := range t.take(func(s *mcpSession) bool { return s.inFlight == 0 }) {
			closeSession(ctx, protocol, id)
		}
		t.mu.Lock()
		left := len(t.byID)
		t.mu.Unlock()
		if left == 0 {
			return
		}
		<-t.left
	}
}

// take removes and names the sessions that match.
func (t *sessionTable) take(match func(*mcpSession) bool) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, s := range t.byID {
		if match(s) {
			ids = append(ids, id)
			delete(t.byID, id)
		}
	}
	return ids
}

// closeSession ends an SDK session as its client would.
func closeSession(ctx context.Context, protocol http.Handler, id string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://localhost/mcp", http.NoBody)
	if err != nil {
		return
	}
	r.Header.Set(sessionHeader, id)
	protocol.ServeHTTP(discard{}, r)
}

// discard is a response nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// holdByClient are the times that clients are known to wait for one call
// (mcp-facts.md 2.5), less a margin.
var holdByClient = []struct {
	name string
	hold time.Duration
}{
	{"claude", 210 * time.Second},
	{"jetbrains", 25 * time.Second},
	{"intellij", 25 * time.Second},
}

// holdFor is how long a call of this client may wait.
func (g *Gateway) holdFor(clientName string) time.Duration {
	name := strings.ToLower(clientName)
	for _, known := range holdByClient {
		if strings.Contains(name, known.name) {
			return known.hold
		}
	}
	return g.Hold
}

// openSession stores the session that a message belongs to, so that its events
// can be followed from its first message on. Sessionless calls of a key share
// one session, which is stored once by each process.
func (g *Gateway) openSession(ctx context.Context, s session.Session) error {
	if s.Kind == session.Key {
		if _, done := g.sessions.stored.LoadOrStore(s.ID+" "+s.RequesterID, true); done {
			return nil
		}
	}
	if err := session.Ensure(ctx, g.Pool, s); err != nil {
		g.sessions.stored.Delete(s.ID + " " + s.RequesterID)
		return err
	}
	return nil
}
