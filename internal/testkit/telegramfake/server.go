// Package telegramfake is a Telegram Bot API server for tests, as strict as the
// real one: it keeps chats, messages, callback queries and the update queue,
// refuses what Telegram refuses with Telegram's words, and fails the test for
// what Telegram would silently ignore but no client of ours should send. A
// Person types and taps; faults are injected by call. It is a real listener on
// 127.0.0.1, so the bot may live in another process and be killed and started
// again. Media other than documents, MarkdownV2 and inline
// mode are not played: a call to them fails the test.
//
// Texts and rules follow core.telegram.org/bots/api and the observed behaviour
// of the open Bot API server; what is assumed is marked so.
package telegramfake

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// TB is what a Server needs of a test; *testing.T is one.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Options of New; the zero value is a strict server.
type Options struct {
	// Token of the one bot, default a made-up one of the real form.
	Token string
	// Username of the bot, default holm_test_bot.
	Username string
	// Clock dates messages, ages callback queries and updates, and paces rate
	// limits; default time.Now. Held polls and waits run on real time.
	Clock func() time.Time
	// QueryLife is how long a tap can be answered, default 15 s (assumed:
	// Telegram documents no figure).
	QueryLife time.Duration
	// Patience is how long the Wait functions wait before they fail the test,
	// default 10 s.
	Patience time.Duration
	// RateLimits answers 429 beyond one message a second in a chat, 20 a minute
	// in a group and 30 a second over all, as Telegram's FAQ gives them.
	RateLimits bool
	// AllowHTTP takes webhooks without TLS, as a Bot API server of one's own
	// does. A call that failed is repeated at once, then after HookPause,
	// default 1 s, which doubles up to 64 times.
	AllowHTTP bool
	HookPause time.Duration
	// AllowUnconfirmed and AllowUnanswered permit updates that were never
	// confirmed and taps that were never answered when the test ends.
	AllowUnconfirmed, AllowUnanswered bool
}

// Server is the fake. All methods may be called concurrently.
type Server struct {
	t    TB
	opts Options
	http *httptest.Server
	done chan struct{}
	once sync.Once
	// hooks are the loops that call webhooks.
	hooks sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change of what follows

	token    string
	me       User
	users    map[int64]*Person
	chats    map[int64]*chat
	nextID   int64 // of users, chats and messages
	queue    updateQueue
	queries  map[string]*query
	answers  []Answer
	calls    []*Call
	faults   []*Injected
	limiter  rateLimiter
	commands map[string][]BotCommand // by kind of scope
}

// New starts a server on a free port of 127.0.0.1. It stops at the end of the
// test, which fails then if updates were never confirmed or taps never answered.
func New(t TB, o Options) *Server {
	t.Helper()
	o.Token = cmp.Or(o.Token, "4767001:AAHolmTestToken_0123456789abcdefghij")
	o.Username = cmp.Or(o.Username, "holm_test_bot")
	o.QueryLife = cmp.Or(o.QueryLife, 15*time.Second)
	o.HookPause = cmp.Or(o.HookPause, time.Second)
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s := &Server{
		t: t, opts: o, token: o.Token,
		done: make(chan struct{}), changed: make(chan struct{}),
		commands: map[string][]BotCommand{},
		users:    map[int64]*Person{}, chats: map[int64]*chat{}, queries: map[string]*query{},
		nextID: 1000,
	}
	s.me = User{ID: botID(o.Token), IsBot: true, FirstName: "Holm", Username: o.Username}
	s.queue = updateQueue{next: 500_000_000 + rand.Int64N(300_000_000), byID: map[int64]*update{}}
	s.limiter = rateLimiter{sent: map[int64][]time.Time{}}
	s.http = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// URL is what a client takes as the address of the Bot API, without a final slash.
func (s *Server) URL() string { return s.http.URL }

// Token is the bot's current token.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// RevokeToken makes the current token invalid, as @BotFather's /revoke does,
// and returns the new one.
func (s *Server) RevokeToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = fmt.Sprintf("%d:AARevokedOnce_%d", s.me.ID, rand.Int64())
	s.endPollLocked(errUnauthorized)
	return s.token
}

// Username of the bot, without @.
func (s *Server) Username() string { return s.me.Username }

// CutConnections breaks all connections, also held polls, as a failing network does.
func (s *Server) CutConnections() { s.http.CloseClientConnections() }

// Close stops the server and reports what was left undone. It is called by the
// test's clean-up; a second call does nothing.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.done)
		s.hooks.Wait()
		s.http.CloseClientConnections()
		s.http.Close()
		s.reportLeftovers()
	})
}

func (s *Server) reportLeftovers() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.queue.waiting {
		if !s.opts.AllowUnconfirmed {
			s.t.Errorf("telegramfake: update %d (%s) was never confirmed", u.id, u.kind)
		}
	}
	for _, q := range s.queries {
		if !s.opts.AllowUnanswered && !q.answered {
			s.t.Errorf("telegramfake: the tap of user %d on %q (query %s) was never answered", q.from.ID, q.data, q.id)
		}
	}
	for _, f := range s.faults {
		if f.hits == 0 {
			s.t.Errorf("telegramfake: a fault for %q was never met", f.Method)
		}
	}
}

var _ http.Handler = (*Server)(nil)
