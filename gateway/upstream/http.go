package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxUnreached is how many requests in a row may fail to reach the server
// before the link counts as lost and is built anew: one failure proves little.
const maxUnreached = 3

// httpLink speaks Streamable HTTP: each request is a POST of its own.
type httpLink struct {
	*ending
	*router
	server  string
	target  string
	headers http.Header
	client  *http.Client
	hide    *redactor
	log     *slog.Logger
	limit   int
	grace   time.Duration
	// again repeats the handshake after the server has forgotten the session.
	again func(ctx context.Context) error
	// hop is the _meta of requests that the link makes by itself in protocol
	// 2026-07-28.
	hop json.RawMessage

	ctx     context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	renewal chan struct{} // holds one token: who renews the session

	mu         sync.Mutex
	session    string
	draft      string // the session of a handshake that is not over yet
	protocol   string
	unreached  int
	stopStream context.CancelFunc
}

var _ link = (*httpLink)(nil)

func startHTTP(s Server, cfg Config, r *router, hide *redactor) *httpLink {
	ctx, cancel := context.WithCancel(context.Background())
	l := &httpLink{
		ending: newEnding(), router: r, server: s.Name, target: s.URL, headers: http.Header{},
		client: newHTTPClient(s), hide: hide, log: cfg.Logger, limit: cfg.MaxMessage, grace: cfg.StopGrace,
		ctx: ctx, cancel: cancel, renewal: make(chan struct{}, 1),
	}
	for name, value := range s.Headers {
		l.headers.Set(name, value)
	}
	l.task(&l.tasks, l.log, func() { l.sendNotes(ctx, l.note) })
	return l
}

func newHTTPClient(s Server) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConnsPerHost:   s.MaxConcurrent + 4, // calls, the listening stream, notifications
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true,
		},
		CheckRedirect: sameOrigin,
	}
}

// sameOrigin follows a redirect only to another path of the same server, and
// only where the body is sent again; the headers hold secrets.
func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	same := req.URL.Scheme == first.URL.Scheme && req.URL.Host == first.URL.Host
	if !same || req.Method != first.Method || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

func (l *httpLink) exchange(ctx context.Context, f *flight) (json.RawMessage, error) {
	ctx, stop := l.within(ctx)
	defer stop()
	f.take = f.deliver
	l.flights.add(f)
	defer l.flights.remove(f)
	used := l.sessionID()
	result, err := l.try(ctx, f)
	if f.method == methodInitialize || !errors.Is(err, errExpired) {
		return result, err
	}
	// A forgotten session is answered with 404 before anything runs, so this
	// one repetition is safe.
	if err := l.renew(ctx, used); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, &UnavailableError{l.server, true, err}
	}
	return l.try(ctx, f)
}

// try sends f once.
func (l *httpLink) try(ctx context.Context, f *flight) (json.RawMessage, error) {
	req, err := l.request(ctx, http.MethodPost, f.body(), f)
	if err != nil {
		return nil, err
	}
	resp, err := l.do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, l.refusal(resp, f)
	}
	if f.method == methodInitialize {
		l.keepDraft(resp.Header.Get("Mcp-Session-Id"))
	}
	return l.reply(ctx, resp, f)
}

// send makes a request whose answer is only a status: 202, or of some servers
// 200 or 204.
func (l *httpLink) send(req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), 5*time.Second)
	defer cancel()
	resp, err := l.do(req.WithContext(ctx))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return l.refusal(resp, nil)
	}
	return nil
}

// within ends the returned context also when the link is closed.
func (l *httpLink) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(errClosed) })
	return ctx, func() { stop(); cancel(nil) }
}
