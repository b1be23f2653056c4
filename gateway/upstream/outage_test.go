package upstream_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

// journal is a log that is read while it is written.
type journal struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all.Write(p)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.all.String(), text)
}

// failing is an upstream that answers with a status, or well at 0.
type failing struct {
	status, asked atomic.Int64
	server        upstream.Server
}

func newFailing(t *testing.T) *failing {
	f := &failing{}
	good := fix.NewHTTP(fix.Options{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := f.status.Load(); status != 0 {
			w.WriteHeader(int(status))
			f.asked.Add(1)
			return
		}
		good.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	f.server = upstream.Server{Name: "web", URL: web.URL + "/mcp"}
	return f
}

// fails waits for n further failures.
func (f *failing) fails(t *testing.T, n int64) {
	t.Helper()
	wanted := f.asked.Load() + n
	eventually(t, "failures", func() bool { return f.asked.Load() >= wanted })
}

// A server that stays down is told of once for each reason, and its return once.
func TestOutageIsToldOnce(t *testing.T) {
	f, log := newFailing(t), &journal{}
	f.status.Store(http.StatusBadGateway)
	cfg := quickConfig()
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	c, _ := start(t, f.server, cfg)
	if _, err := c.Tools(within(t)); err == nil {
		t.Fatal("the tools came")
	}
	f.fails(t, 20)
	if n := log.count("upstream is down"); n != 1 {
		t.Errorf("told %d times of one reason:\n%s", n, log.all.String())
	}
	f.status.Store(http.StatusForbidden)
	eventually(t, "the other reason", func() bool { return log.count("Forbidden") == 1 })
	f.fails(t, 20)
	if n := log.count("upstream is down"); n != 2 {
		t.Errorf("told %d times of two reasons:\n%s", n, log.all.String())
	}
	f.status.Store(0)
	eventually(t, "the return", func() bool { return log.count("upstream is up") == 1 })
}

// What lasts is told of again after a while, with how often it failed.
func TestLongOutageIsToldAgain(t *testing.T) {
	f, log := newFailing(t), &journal{}
	f.status.Store(http.StatusBadGateway)
	cfg := quickConfig()
	cfg.Logger, cfg.TellEvery = slog.New(slog.NewTextHandler(log, nil)), 200*time.Millisecond
	c, _ := start(t, f.server, cfg)
	_, _ = c.Tools(within(t))
	eventually(t, "a sum of failures", func() bool { return log.count("failures=") > log.count("failures=1 ") })
}
