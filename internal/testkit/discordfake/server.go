// Package discordfake is Discord for tests: the REST calls a bot of ours makes,
// the gateway over a real websocket with sessions that can be resumed, people who
// write, tap and fill in forms, and faults on order. It is as strict as Discord,
// and stricter where Discord ignores what a well-made client would not send. What
// it does not know it reports as a test failure, never as success.
//
// It listens on 127.0.0.1, so a bot under test may run in another process and
// may be killed and started again.
package discordfake

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// T is the part of testing.TB that the server reports to.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Options change a server from its defaults.
type Options struct {
	// Heartbeat is the interval the gateway asks for, 41.25 s by default.
	Heartbeat time.Duration
	// AckTimeout is how long an interaction waits for its first answer: 3 s at
	// Discord. Here a minute by default, so that a busy machine fails no test.
	AckTimeout time.Duration
	// Starts is how many sessions may be begun, 1000 by default.
	Starts int
}

// Ids of the bot.
const (
	BotID = "900000000000000001"
	AppID = "900000000000000002"
)

// Server is one fake Discord with one bot. All methods may be called
// concurrently.
type Server struct {
	t     T
	opts  Options
	addr  string
	token string
	http  *http.Server
	work  sync.WaitGroup

	mu           sync.Mutex
	changed      chan struct{}
	closed       bool
	serial       int
	people       map[string]*Person
	places       map[string]*place // channels by id
	messages     []*Message
	sessions     map[string]*session
	sockets      map[*socket]bool
	starts       int
	resumes      int
	heartbeats   int
	muted        bool
	refuseToken  bool
	interactions map[string]*Interaction // by token
	commands     []string
	calls        []Call
	faults       []*Fault
	quota        int
	window       time.Duration
	windows      map[string]*window
	limited      int
	timers       map[*time.Timer]bool
}

// New starts a server and stops it at the end of the test.
func New(t T, opts Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("discordfake: listen: %v", err)
	}
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 41250*time.Millisecond)
	opts.AckTimeout = cmp.Or(opts.AckTimeout, time.Minute)
	opts.Starts = cmp.Or(opts.Starts, 1000)
	s := &Server{
		t: t, opts: opts, addr: listener.Addr().String(), changed: make(chan struct{}),
		token:  base64.RawURLEncoding.EncodeToString([]byte(BotID)) + ".GfakeA." + fmt.Sprintf("%016x", rand.Uint64()),
		people: map[string]*Person{}, places: map[string]*place{}, sessions: map[string]*session{}, sockets: map[*socket]bool{},
		interactions: map[string]*Interaction{}, timers: map[*time.Timer]bool{}, windows: map[string]*window{},
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 30 * time.Second}
	s.work.Go(func() { _ = s.http.Serve(listener) })
	t.Cleanup(s.Close)
	return s
}

// APIURL is the base of the REST API.
func (s *Server) APIURL() string { return "http://" + s.addr + "/api/v10" }

// Token is the bot's token.
func (s *Server) Token() string { return s.token }

// Close hangs up on everybody. A second call does nothing.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for timer := range s.timers {
		timer.Stop()
	}
	for k := range s.sockets {
		k.drop()
	}
	s.notify()
	s.mu.Unlock()
	_ = s.http.Close()
	s.work.Wait()
}

// next is a new id; the caller holds mu.
func (s *Server) next() string {
	s.serial++
	return fmt.Sprintf("1100000000%09d", s.serial)
}

// notify wakes everybody who waits; the caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// patience is how long a test waits for something before it has failed.
const patience = 60 * time.Second

// await blocks until cond holds, which is asked with mu held, and fails the test
// when it never does.
func (s *Server) await(what string, cond func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.t.Fatalf("discordfake: waited %s for %s", patience, what)
			return
		}
	}
}

// after runs f with mu held when d has passed, unless the server was closed. The
// caller holds mu.
func (s *Server) after(d time.Duration, f func()) {
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.timers, timer)
		if !s.closed {
			f()
		}
	})
	s.timers[timer] = true
}
