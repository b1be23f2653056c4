package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw begins a POST whose body stays unsent. answer gives what is answered all the
// same, nil where nothing is within so long.
func (p *process) raw(path, key string, announced int) (answer func(within time.Duration) *told, hangUp func()) {
	p.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n{", path, key, announced)
	return func(within time.Duration) *told {
		_ = c.SetReadDeadline(time.Now().Add(within))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return nil
		}
		body, _ := io.ReadAll(resp.Body)
		return &told{resp.StatusCode, resp.Header.Get("Retry-After"), resp.Close, string(body)}
	}, func() { _ = c.Close() }
}

type told struct {
	status int
	after  string
	closed bool
	body   string
}

// is tells whether it is a refusal that says when to try again.
func (a *told) is(status int, code string) bool {
	return a != nil && a.status == status && a.after != "" && strings.Contains(a.body, code)
}

// besides is what a body is answered while another of 700 KiB is on its way; nil
// where that cannot be told, since either may come first.
func (p *process) besides(holder, path, key string, announced int) *told {
	stays, hangUp := p.raw("/mcp", holder, 700<<10)
	defer hangUp()
	if stays(300*time.Millisecond) != nil {
		return nil // refused: one that hung up is not noticed yet
	}
	answer, hangUpToo := p.raw(path, key, announced)
	defer hangUpToo()
	return answer(time.Second)
}

// TestBodiesHaveABound: HOLM_MAX_BODIES and HOLM_MAX_BODIES_PER_KEY count what is
// announced, before anything of it has come; who proves nothing is not read at all.
func TestBodiesHaveABound(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "HOLM_MAX_BODIES=1536KiB", "HOLM_MAX_BODIES_PER_KEY=1MiB")
	mine, _ := p.setUp("main")
	other := p.field("key", "add", "key", "main")
	for _, c := range []struct {
		path, key    string
		size, status int
		code         string
	}{
		{"/mcp", mine, 400 << 10, http.StatusTooManyRequests, `"code":-31429`},
		{"/api/agents/main/access/check", mine, 400 << 10, http.StatusTooManyRequests, "too_many_requests"},
		{"/mcp", other, 900 << 10, http.StatusServiceUnavailable, `"code":-31503`},
		{"/api/agents/main/access/check", other, 900 << 10, http.StatusServiceUnavailable, "busy"},
	} {
		var got *told
		for deadline := time.Now().Add(patience); !got.is(c.status, c.code) && time.Now().Before(deadline); {
			got = p.besides(mine, c.path, c.key, c.size)
		}
		if !got.is(c.status, c.code) {
			t.Errorf("%s with %d bytes: %+v, want %d %s", c.path, c.size, got, c.status, c.code)
		}
	}
	answer, _ := p.raw("/mcp", "holm_sk_nobody_nothing", 4<<20)
	if got := answer(patience); got == nil || got.status != http.StatusUnauthorized || !got.closed {
		t.Errorf("a body of nobody: %+v", got)
	}
	session := p.connect(mine, "0s")
	if got := call(t.Context(), session, map[string]any{"n": 1}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestSlowBodiesEnd: HOLM_BODY_TIME bounds how long a body may take, on each front.
func TestSlowBodiesEnd(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "HOLM_BODY_TIME=1s")
	key, _ := p.setUp("main")
	for path, code := range map[string]string{"/mcp": `"code":-31408`, "/api/agents/main/access/check": "body_timeout"} {
		answer, _ := p.raw(path, key, 1000)
		if got := answer(patience); got == nil || got.status != http.StatusRequestTimeout || !strings.Contains(got.body, code) {
			t.Errorf("%s: %+v", path, got)
		}
	}
	// A call that is held much longer than that is no slow body.
	session := p.connect(key, "3s")
	if got := call(t.Context(), session, map[string]any{"n": 1}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("held: %+v", got)
	}
}

// TestConnectionsHaveABound: HOLM_MAX_CONNECTIONS_PER_KEY and HOLM_MAX_CONNECTIONS.
func TestConnectionsHaveABound(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "HOLM_MAX_CONNECTIONS=30", "HOLM_MAX_CONNECTIONS_PER_KEY=2")
	mine, _ := p.setUp("main")
	other := p.field("key", "add", "key", "main")
	open := func(key string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/agents/main/approvals", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		// Read to its end, so that the next request takes the same connection.
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp
	}
	// The two are held anew until both have come before the third.
	var third, others *http.Response
	for deadline := time.Now().Add(patience); ; {
		first, hangUp := p.raw("/mcp", mine, 1000)
		second, hangUpToo := p.raw("/mcp", mine, 1000)
		if first(200*time.Millisecond) == nil && second(200*time.Millisecond) == nil {
			third, others = open(mine), open(other)
		}
		hangUp()
		hangUpToo()
		if third != nil && third.StatusCode == http.StatusTooManyRequests && third.Header.Get("Retry-After") != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a third request of the key: %+v", third)
		}
	}
	if others.StatusCode != http.StatusOK {
		t.Errorf("another key: %s", others.Status)
	}
	for range 30 {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	answer, _ := p.raw("/mcp", other, 10)
	if got := answer(patience); !got.is(http.StatusServiceUnavailable, "too many connections") {
		t.Errorf("a connection too many: %+v", got)
	}
}

// TestQuestionsHaveABound: HOLM_MAX_ARGS and HOLM_MAX_ASKS_PER_MINUTE; asking and
// withdrawing in a loop ends.
func TestQuestionsHaveABound(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "HOLM_MAX_ARGS=4KiB", "HOLM_MAX_ASKS_PER_MINUTE=3")
	key, _ := p.setUp("main")
	session := p.connect(key, "0s")
	if got := call(t.Context(), session, map[string]any{"text": strings.Repeat("a", 5<<10)}); got.Err == nil || !strings.Contains(got.Err.Error(), "HOLM_MAX_ARGS") {
		t.Errorf("long arguments: %+v", got)
	}
	for n := range 3 {
		if got := call(t.Context(), session, map[string]any{"n": n}); got.Kind != "APPROVAL_REQUIRED" {
			t.Fatalf("question %d: %+v", n, got)
		}
		if got := callNamed(t.Context(), session, "approval_cancel", map[string]any{"request": fmt.Sprint(n + 1)}); got.Failed || got.Err != nil {
			t.Fatalf("withdrawn: %+v", got)
		}
	}
	if got := call(t.Context(), session, map[string]any{"n": 9}); got.Kind != "APPROVAL_CAPPED" || !strings.Contains(got.Text, "within a minute") {
		t.Errorf("a question too many: %+v", got)
	}
}
