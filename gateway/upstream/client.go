package upstream

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Client is one supervised upstream. Its methods may be called by many
// goroutines at once. It connects when first asked for something, and from then
// on keeps the connection until Run ends.
type Client struct {
	server Server
	cfg    Config
	hide   *redactor
	stderr *tail

	demand  chan struct{} // somebody wants the server
	refresh chan struct{} // the tools list may be another one
	slots   chan struct{} // calls in flight
	emptied int           // slots taken for good at the end, by Run alone
	outage  outage        // what the log knows, for Run alone
	running atomic.Bool
	ended   chan struct{} // Run is over, or drains
	skipped atomic.Int64
	// calls ends when the calls in flight must: after the drain.
	calls context.Context
	abort context.CancelFunc

	mu      sync.Mutex
	news    chan struct{} // closed at each change of what follows
	health  Health
	current *session
	failure error
	tools   []Tool // the last list, nil before the first
	listErr error  // why there is no first list
}

// New checks the server and makes a client for it; nothing is started before
// Run and the first demand.
func New(server Server, cfg Config) (*Client, error) {
	if err := server.check(); err != nil {
		return nil, err
	}
	server.CallTimeout = cmp.Or(server.CallTimeout, 5*time.Minute)
	server.MaxConcurrent = cmp.Or(server.MaxConcurrent, 64)
	cfg = cfg.withDefaults()
	calls, abort := context.WithCancel(context.Background())
	return &Client{
		server: server, cfg: cfg, hide: newRedactor(server.secrets()), stderr: &tail{},
		outage: outage{every: cfg.TellEvery},
		demand: make(chan struct{}, 1), refresh: make(chan struct{}, 1),
		slots: make(chan struct{}, server.MaxConcurrent),
		calls: calls, abort: abort, ended: make(chan struct{}), news: make(chan struct{}),
		health: Health{State: Idle, Since: time.Now()},
	}, nil
}

// Run supervises the upstream until ctx ends: then calls in flight get
// Config.DrainTimeout to finish, the rest ends with a *LostError, and the
// session or process is ended. It owns all goroutines of the client and
// returns when they have ended. It may be called once.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("upstream: Run called twice")
	}
	select {
	case <-c.demand:
		c.supervise(ctx)
	case <-ctx.Done():
		close(c.ended)
	}
	c.abort()
	c.set(Idle, nil, nil)
	return nil
}

// want asks for a connection.
func (c *Client) want() {
	select {
	case c.demand <- struct{}{}:
	default:
	}
}

var errStopped = errors.New("the gateway is shutting down")

// session is the current connection. It waits while the first attempt, or the
// one right after a loss, is under way, and fails at once while the server is
// known to be down.
func (c *Client) session(ctx context.Context) (*session, error) {
	c.want()
	for {
		c.mu.Lock()
		s, state, failure, news := c.current, c.health.State, c.failure, c.news
		c.mu.Unlock()
		if s != nil && s.link.cause() == nil {
			return s, nil
		}
		if state == Down {
			return nil, c.unavailable(failure)
		}
		select {
		case <-news:
		case <-c.ended:
			return nil, c.unavailable(errStopped)
		case <-ctx.Done():
			return nil, c.unsent(ctx)
		}
	}
}

func (c *Client) unavailable(err error) error {
	var already *UnavailableError
	if errors.As(err, &already) {
		return already
	}
	return &UnavailableError{c.server.Name, true, reason(err)}
}

// unsent is the outcome of a call whose caller left before it was sent.
func (c *Client) unsent(ctx context.Context) error {
	return &UnavailableError{c.server.Name, true, context.Cause(ctx)}
}
