// Package slackfake is Slack for tests: the Web API, Socket Mode over a real
// websocket, response addresses, people who type and click, and faults on
// order. It is as strict as Slack, and stricter where Slack ignores what a
// well-made client would not send. What it does not know it reports as a
// test failure, never as success.
//
// It listens on 127.0.0.1, so a bot under test may run in another process and
// may be killed and started again. Behaviour marked "assumed" was not taken
// from documentation or from client libraries.
package slackfake

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
	// Apps are the installed apps; by default one, in workspace T0HOLM.
	Apps []App
	// AckTimeout is how long an envelope waits for its acknowledgement, 3 s by
	// default, as at Slack.
	AckTimeout time.Duration
	// TriggerLife is how long a trigger opens a view, 3 s by default, as at Slack.
	TriggerLife time.Duration
	// PingInterval is the time between pings on a socket, 5 s by default.
	PingInterval time.Duration
	// RetryDelays are the waits before the attempts 1, 2 and 3 of an event that
	// was not acknowledged: at once, 1 min and 5 min by default.
	RetryDelays []time.Duration
	// RateLimits turns Slack's rate limits on.
	RateLimits bool
	// Clock dates messages, tickets and response addresses; time.Now by default.
	Clock func() time.Time
}

// App is one app installed in one workspace. Empty fields get defaults.
type App struct {
	ID, Team, TeamName string
	BotToken, AppToken string
	BotUser, BotID     string
	// SigningSecret signs what is sent by HTTP.
	SigningSecret string
	// BotScopes and AppScopes are what the tokens may do; by default all that
	// the methods of this package ask for.
	BotScopes, AppScopes []string
	// Command is the slash command, "/holm" by default.
	Command string
}

// Server is one fake Slack. All methods may be called concurrently.
type Server struct {
	t    T
	opts Options
	addr string
	http *http.Server
	work sync.WaitGroup
	done chan struct{}

	mu            sync.Mutex
	changed       chan struct{}
	closed        bool
	allowUnacked  bool
	loseEvents    bool
	apps          []*app
	users         map[string]*user
	conversations map[string]*conversation
	tickets       map[string]ticket
	responses     map[string]*response
	ephemerals    map[string][]Message
	uploads       map[string]*upload
	calls         []Call
	sents         []*Sent
	faults        []*Fault
	timers        map[*time.Timer]struct{}
	buckets       map[string]*rate.Limiter
	triggers      map[string]*trigger
	modals        map[string][]*View // by user, the deepest first
	homes         map[string]*View   // by app and user
	published     int
	editsClosed   bool
	serial        int
	lastTS        time.Time
}

type app struct {
	App
	botRevoked, appRevoked bool
	tabDisabled            bool
	homeDisabled           bool
	address                string // where it is called by HTTP, empty for a socket
	sockets                map[*socket]struct{}
	waiting                []*Sent
}

// New starts a server and stops it at the end of the test.
func New(t T, opts Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("slackfake: listen: %v", err)
	}
	s := &Server{
		t: t, opts: withDefaults(opts), addr: listener.Addr().String(), done: make(chan struct{}),
		changed:       make(chan struct{}),
		users:         make(map[string]*user),
		conversations: make(map[string]*conversation),
		tickets:       make(map[string]ticket),
		responses:     make(map[string]*response),
		ephemerals:    make(map[string][]Message),
		uploads:       make(map[string]*upload),
		triggers:      make(map[string]*trigger),
		modals:        make(map[string][]*View),
		homes:         make(map[string]*View),
		timers:        make(map[*time.Timer]struct{}),
		buckets:       make(map[string]*rate.Limiter),
	}
	for _, a := range s.opts.Apps {
		s.install(a)
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.work.Go(func() { _ = s.http.Serve(listener) })
	t.Cleanup(s.Close)
	return s
}

func withDefaults(o Options) Options {
	if len(o.Apps) == 0 {
		o.Apps = []App{{}}
	}
	o.AckTimeout = cmp.Or(o.AckTimeout, 3*time.Second)
	o.TriggerLife = cmp.Or(o.TriggerLife, triggerLife)
	o.PingInterval = cmp.Or(o.PingInterval, 5*time.Second)
	if o.RetryDelays == nil {
		o.RetryDelays = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// install adds an app with its bot user; the caller has s to itself.
func (s *Server) install(a App) {
	n := len(s.apps) + 1
	a.ID = cmp.Or(a.ID, fmt.Sprintf("A0HOLM%d", n))
	a.Team = cmp.Or(a.Team, "T0HOLM")
	a.TeamName = cmp.Or(a.TeamName, "Workspace "+a.Team)
	a.BotToken = cmp.Or(a.BotToken, fmt.Sprintf("xoxb-%d-%s", n, hexID(12)))
	a.AppToken = cmp.Or(a.AppToken, fmt.Sprintf("xapp-1-%s-%s", a.ID, hexID(12)))
	a.BotUser = cmp.Or(a.BotUser, fmt.Sprintf("U0BOT%d", n))
	a.BotID = cmp.Or(a.BotID, fmt.Sprintf("B0BOT%d", n))
	a.SigningSecret = cmp.Or(a.SigningSecret, hexID(32))
	a.Command = cmp.Or(a.Command, "/holm")
	if a.BotScopes == nil {
		a.BotScopes = []string{"chat:write", "im:write", "im:history", "app_mentions:read", "commands", "users:read", "files:write"}
	}
	if a.AppScopes == nil {
		a.AppScopes = []string{"connections:write"}
	}
	s.apps = append(s.apps, &app{App: a, sockets: make(map[*socket]struct{})})
	s.users[a.BotUser] = &user{id: a.BotUser, team: a.Team, name: "holm", bot: true}
}

// APIURL is the base of the Web API; it ends in "/api/".
func (s *Server) APIURL() string { return "http://" + s.addr + "/api/" }

// App is the n-th installed app, with its tokens.
func (s *Server) App(n int) App { return s.apps[n].App }

// Close hangs up on everybody and waits until nothing runs any more. It is
// called at the end of the test; a second call does nothing.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.done)
	for timer := range s.timers {
		if timer.Stop() {
			s.work.Done()
		}
	}
	for _, a := range s.apps {
		for k := range a.sockets {
			k.hangUp()
		}
	}
	s.notify()
	s.mu.Unlock()
	_ = s.http.Close()
	s.work.Wait()
}

func (s *Server) now() time.Time { return s.opts.Clock() }
