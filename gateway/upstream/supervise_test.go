package upstream_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

// A server that answers neither calls nor the ping that follows is started anew.
func TestHungServerIsStartedAnew(t *testing.T) {
	f := newFixture(t, fix.BlackHole)
	f.server.CallTimeout = 20 * time.Millisecond
	cfg := quickConfig()
	cfg.PingTimeout = 50 * time.Millisecond
	c, _ := start(t, f.server, cfg)
	for range 3 {
		if _, err := call(t, c, "echo", `{}`); !isLost(err) {
			t.Fatalf("call: %v", err)
		}
	}
	eventually(t, "a restart", func() bool { return c.Health().Restarts == 1 })
	if got := c.Health().LastError; !strings.Contains(got, "neither calls nor a ping") {
		t.Errorf("last error %q", got)
	}
}

// A caller who does not take its progress holds up nobody else.
func TestSlowReaderOfProgressIsAlone(t *testing.T) {
	c, _ := start(t, newFixture(t).server, quickConfig())
	stuck, free := make(chan struct{}, 1), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := c.Call(within(t), upstream.CallRequest{
			Tool: "slow", Arguments: json.RawMessage(`{"ms":100,"progress":100}`),
			OnProgress: func(json.RawMessage) {
				select {
				case stuck <- struct{}{}:
				default:
				}
				<-free
			},
		})
		ended <- err
	}()
	<-stuck
	for range 100 {
		mustCall(t, c, "echo", `{"x":"`+strings.Repeat("x", 4<<10)+`"}`)
	}
	close(free)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Nothing starts before somebody asks, and Run ends all the same.
func TestIdleClientStartsNothing(t *testing.T) {
	f := newFixture(t)
	c, stop := start(t, f.server, quickConfig())
	if h := c.Health(); h.State != upstream.Idle || h.PID != 0 {
		t.Errorf("health %+v", h)
	}
	stop()
	if f.traced(t) != nil {
		t.Error("the server was started")
	}
	if _, err := c.Tools(within(t)); !isUnavailable(err) {
		t.Errorf("Tools after the end: %v", err)
	}
}

// The last list stands while the server is down.
func TestLastListStandsWhileDown(t *testing.T) {
	web := serveFixture(t)
	c, _ := start(t, web.server, quickConfig())
	rawTools(t, c)
	web.handler.SetModes(fix.BadGateway)
	eventually(t, "the server to be down", func() bool {
		_, _ = call(t, c, "echo", `{}`)
		return c.Health().State == upstream.Down
	})
	if got := rawTools(t, c); len(got) != len(fix.PlainTools()) {
		t.Errorf("%d tools", len(got))
	}
	_, err := call(t, c, "echo", `{}`)
	if !isUnavailable(err) || isLost(err) {
		t.Errorf("a call while down: %v", err)
	}
}

// A redirect within the server is followed: /mcp to /mcp/ is common.
func TestRedirectWithinTheServerIsFollowed(t *testing.T) {
	handler := fix.NewHTTP(fix.Options{})
	var hops atomic.Int32
	mux := http.NewServeMux()
	mux.Handle("/mcp/", handler)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
	})
	web := httptest.NewServer(mux)
	defer web.Close()
	c, stop := start(t, upstream.Server{Name: "web", URL: web.URL + "/mcp"}, quickConfig())
	defer stop()
	if got := mustCall(t, c, "echo", `{"a":1}`); !strings.Contains(got, `{"a":1}`) || hops.Load() == 0 {
		t.Errorf("got %s", got)
	}
}
