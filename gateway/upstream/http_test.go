package upstream_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

// webFixture is the fixture over HTTP.
type webFixture struct {
	server  upstream.Server
	opts    fix.Options
	handler *fix.HTTP
	web     *httptest.Server
}

const webSecret = "s3cret-token-of-the-server"

func serveFixture(t *testing.T, modes ...string) *webFixture {
	t.Helper()
	dir := t.TempDir()
	opts := fix.Options{Modes: modes, Log: filepath.Join(dir, "log"), Trace: filepath.Join(dir, "trace")}
	handler := fix.NewHTTP(opts)
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	server := upstream.Server{
		Name: "web", URL: web.URL + "/mcp?key=" + webSecret,
		Headers: map[string]string{"Authorization": "Bearer " + webSecret},
	}
	return &webFixture{server, opts, handler, web}
}

// Fault 17: a forgotten session is opened anew, and the call goes through once.
func TestFault17ExpiredSessionIsRenewed(t *testing.T) {
	for _, mode := range []string{"", fix.SessionIn400, fix.NoStream, fix.JSONAnswers} {
		t.Run("mode "+mode, func(t *testing.T) {
			web := serveFixture(t, mode)
			c, _ := start(t, web.server, quickConfig())
			mustCall(t, c, "record", `{"n":1}`)
			web.handler.ExpireSessions()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { mustCallQuietly(t, c, "record", `{"n":2}`) })
			}
			all.Wait()
			opened, _, _ := web.handler.Counts()
			if n := len(fileLines(t, web.opts.Log)); n != 21 || opened != 2 {
				t.Errorf("%d calls ran in %d sessions", n, opened)
			}
		})
	}
}

func mustCallQuietly(t *testing.T, c *upstream.Client, tool, arguments string) {
	if _, err := call(t, c, tool, arguments); err != nil {
		t.Errorf("calling %s: %v", tool, err)
	}
}

// Fault 19: calls share one session, whose state they see.
func TestFault19OneSessionForAllCalls(t *testing.T) {
	web := serveFixture(t)
	c, stop := start(t, web.server, quickConfig())
	mustCall(t, c, "login", `{"user":"ada"}`)
	if got := mustCall(t, c, "whoami", `{}`); !strings.Contains(got, "ada") {
		t.Errorf("whoami: %s", got)
	}
	stop()
	if opened, deleted, _ := web.handler.Counts(); opened != 1 || deleted != 1 {
		t.Errorf("%d sessions opened, %d deleted", opened, deleted)
	}
}

// Statuses that refuse mean that nothing ran; whether to try again depends.
func TestRefusalsSayWhatHappened(t *testing.T) {
	cases := []struct {
		mode, text string
		retryable  bool
	}{
		{fix.Unauthorized, "refused our credentials (401 Unauthorized)", false},
		{fix.Forbidden, "refused our credentials (403 Forbidden)", false},
		{fix.TooMany, "429 Too Many Requests", true},
		{fix.EchoSecret, "400 Bad Request: bad request with", false},
	}
	for _, tc := range cases {
		t.Run(tc.mode, func(t *testing.T) {
			web := serveFixture(t)
			c, _ := start(t, web.server, quickConfig())
			mustCall(t, c, "echo", `{}`)
			web.handler.SetModes(tc.mode)
			_, err := call(t, c, "record", `{}`)
			var refused *upstream.UnavailableError
			if !errors.As(err, &refused) || refused.Retryable != tc.retryable || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("call: %v", err)
			}
			checkNoSecret(t, err.Error())
			web.handler.SetModes()
			mustCall(t, c, "echo", `{}`)
		})
	}
}

// After these nobody knows whether the tool ran.
func TestUnknownOutcomes(t *testing.T) {
	for mode, text := range map[string]string{
		fix.ServerError: "500 Internal Server Error", fix.BadGateway: "502 Bad Gateway",
		fix.HTML: `"text/html" instead of JSON`, fix.Accepted: "sent no answer (202", fix.DropStream: "stream ended before the answer",
	} {
		t.Run(mode, func(t *testing.T) {
			web := serveFixture(t)
			c, _ := start(t, web.server, quickConfig())
			mustCall(t, c, "echo", `{}`)
			web.handler.SetModes(mode)
			if _, err := call(t, c, "record", `{}`); !isLost(err) || !strings.Contains(err.Error(), text) {
				t.Errorf("call: %v", err)
			}
			web.handler.SetModes()
			mustCall(t, c, "echo", `{}`)
			opened, _, _ := web.handler.Counts()
			if n := len(fileLines(t, web.opts.Log)); n > 1 || opened != 1 {
				t.Errorf("the call ran %d times, in %d sessions", n, opened)
			}
		})
	}
}

// Fault 41 over HTTP, and 2025-11-25: the rest of a stream is fetched, the call
// is not repeated.
func TestBrokenStreamIsResumed(t *testing.T) {
	web := serveFixture(t, fix.Resume)
	c, _ := start(t, web.server, quickConfig())
	if got := mustCall(t, c, "record", `{}`); !strings.Contains(got, "recorded") {
		t.Errorf("got %s", got)
	}
	if n := len(fileLines(t, web.opts.Log)); n != 1 {
		t.Errorf("the call ran %d times", n)
	}
}

// Fault 1.10: a stream outside calls that keeps closing costs nothing.
func TestClosingStreamDoesNotEndTheSession(t *testing.T) {
	web := serveFixture(t, fix.StreamCloses)
	c, _ := start(t, web.server, quickConfig())
	mustCall(t, c, "login", `{"user":"ada"}`)
	eventually(t, "three streams", func() bool { _, _, n := web.handler.Counts(); return n >= 3 })
	if got := mustCall(t, c, "whoami", `{}`); !strings.Contains(got, "ada") || c.Health().Restarts != 0 {
		t.Errorf("whoami: %s, health %+v", got, c.Health())
	}
}

// Fault 30 over HTTP.
func TestFault30ListChangedOverHTTP(t *testing.T) {
	web := serveFixture(t)
	changed := make(chan struct{}, 16)
	cfg := quickConfig()
	cfg.OnChange = func() { changed <- struct{}{} }
	c, _ := start(t, web.server, cfg)
	rawTools(t, c)
	mustCall(t, c, "change", `{}`)
	waitForTool(t, c, changed, "added", true)
}

// Headers never travel to another host.
func TestRedirectToAnotherHostIsNotFollowed(t *testing.T) {
	var mu sync.Mutex
	visits := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		visits++
	}))
	defer other.Close()
	web := serveFixture(t, fix.Redirect)
	web.handler.RedirectTo(other.URL + "/mcp?key=" + webSecret)
	c, _ := start(t, web.server, quickConfig())
	_, err := call(t, c, "echo", `{}`)
	if !isUnavailable(err) || !strings.Contains(err.Error(), "redirects to "+other.URL+"/mcp,") {
		t.Errorf("call: %v", err)
	}
	checkNoSecret(t, err.Error(), c.Health().LastError)
	mu.Lock()
	defer mu.Unlock()
	if visits != 0 {
		t.Error("the other host was visited")
	}
}

// Fault 14 over HTTP, and no secret in what a dead server's errors say.
func TestServerThatIsNotThere(t *testing.T) {
	web := serveFixture(t)
	web.web.Close()
	c, _ := start(t, web.server, quickConfig())
	_, err := call(t, c, "echo", `{}`)
	if !isUnavailable(err) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("call: %v", err)
	}
	checkNoSecret(t, err.Error(), c.Health().LastError)
}

func TestServerThatGoesAwayIsDownAndComesBack(t *testing.T) {
	web := serveFixture(t)
	handler, address := web.handler, web.web.Listener.Addr().String()
	c, _ := start(t, web.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	web.web.CloseClientConnections()
	web.web.Close()
	eventually(t, "the server to be down", func() bool {
		_, err := call(t, c, "echo", `{}`)
		if err == nil {
			t.Fatal("a call on a server that is gone")
		}
		return c.Health().State == upstream.Down
	})
	again := &http.Server{Addr: address, Handler: handler}
	go func() { _ = again.ListenAndServe() }()
	defer again.Close()
	eventually(t, "the server to be up", func() bool { return c.Health().State == upstream.Up })
	mustCall(t, c, "echo", `{}`)
}

// Protocol 2026-07-28 has no session; each request says what it is.
func TestModernServer(t *testing.T) {
	web := serveFixture(t, fix.Modern)
	changed := make(chan struct{}, 16)
	cfg := quickConfig()
	cfg.OnChange = func() { changed <- struct{}{} }
	c, _ := start(t, web.server, cfg)
	if got := mustCall(t, c, "exact", `{}`); got != fix.ExactResult {
		t.Errorf("got %s", got)
	}
	rawTools(t, c)
	mustCall(t, c, "routed", `{"region":"Zürich"}`)
	headers := web.handler.Headers()
	last := headers[len(headers)-1]
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "routed",
		"Mcp-Param-Region": "=?base64?WsO8cmljaA==?=", "Mcp-Session-Id": "",
	} {
		if got := last.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	trace := fileLines(t, web.opts.Trace)
	if !strings.Contains(trace[len(trace)-1], `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
		t.Errorf("the last request was %s", trace[len(trace)-1])
	}
	if h := c.Health(); h.Protocol != "2026-07-28" || !strings.Contains(string(h.ServerInfo), "fixture") {
		t.Errorf("health %+v", h)
	}
	mustCall(t, c, "change", `{}`)
	waitForTool(t, c, changed, "added", true)
}

func TestUnknownProtocolIsRefused(t *testing.T) {
	both(t, []string{fix.UnknownVersion}, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		if _, err := c.Tools(within(t)); !isUnavailable(err) || !strings.Contains(err.Error(), "1999-01-01") {
			t.Errorf("Tools: %v", err)
		}
	})
}

func TestServersThatCannotBeMeant(t *testing.T) {
	for name, server := range map[string]upstream.Server{
		"neither":      {Name: "x"},
		"both":         {Name: "x", URL: "http://127.0.0.1", Command: []string{"x"}},
		"no name":      {URL: "http://127.0.0.1"},
		"scheme":       {Name: "x", URL: "file:///etc/passwd"},
		"own header":   {Name: "x", URL: "http://127.0.0.1", Headers: map[string]string{"mcp-session-id": "1"}},
		"replay":       {Name: "x", URL: "http://127.0.0.1", Headers: map[string]string{"Idempotency-Key": "1"}},
		"header break": {Name: "x", URL: "http://127.0.0.1", Headers: map[string]string{"X": "a\r\nY: b"}},
		"zero byte":    {Name: "x", Command: []string{"a\x00b"}},
		"environment":  {Name: "x", Command: []string{"a"}, Env: map[string]string{"A=B": "c"}},
	} {
		if _, err := upstream.New(server, upstream.Config{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func checkNoSecret(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(text, webSecret) {
			t.Errorf("a secret shows in: %s", text)
		}
	}
}
