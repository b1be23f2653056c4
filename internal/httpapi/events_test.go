package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/httpapi"
	"holm/internal/session"
)

// reader reads a stream as it comes.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
}

// follow opens a stream; extra are further headers.
func (w *world) follow(token, path string, extra ...string) *reader {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(extra); i += 2 {
		req.Header.Add(extra[i], extra[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { stop(); resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		w.t.Fatalf("status %d, header %v", resp.StatusCode, resp.Header)
	}
	return &reader{t: w.t, lines: bufio.NewScanner(resp.Body), stop: stop}
}

// next gives the lines of the next block, e.g. one event; nil at the end.
func (r *reader) next() (block []string) {
	r.t.Helper()
	for r.lines.Scan() {
		if r.lines.Text() == "" {
			return block
		}
		block = append(block, r.lines.Text())
	}
	return nil
}

// event gives the next event, over comments and the opening.
func (r *reader) event() (e session.Event, ok bool) {
	r.t.Helper()
	for block := r.next(); block != nil; block = r.next() {
		if len(block) != 3 {
			continue
		}
		data, _ := strings.CutPrefix(block[2], "data: ")
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			r.t.Fatalf("%v in %q", err, block)
		}
		if block[0] != fmt.Sprintf("id: %d", e.ID) || block[1] != "event: "+e.Type {
			r.t.Fatalf("block %q", block)
		}
		return e, true
	}
	return e, false
}

func (r *reader) types(n int) (types []string) {
	r.t.Helper()
	for range n {
		e, ok := r.event()
		if !ok {
			r.t.Fatalf("the stream ended after %v", types)
		}
		types = append(types, e.Type)
	}
	return types
}

func (w *world) decide(r approvals.Request) {
	w.t.Helper()
	w.admin("POST", reviewPath(r), `{"decision":"approved","resolution":"single"}`).is(200)
}

func TestEventsArriveAsTheyHappen(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	r := w.ask("main", "agent:main", `{"a":1}`)
	own := w.follow(key, "/api/agents/main/sessions/"+segment(r.SessionID)+"/events")
	all := w.follow(adminToken, "/api/agents/main/events")
	for _, stream := range []*reader{own, all} {
		if got := stream.types(1); got[0] != "approval_requested" {
			t.Errorf("got %v", got)
		}
	}
	w.decide(r)
	for _, stream := range []*reader{own, all} {
		e, ok := stream.event()
		if !ok || e.Type != "approval_resolved" || e.SessionID != r.SessionID || !strings.Contains(string(e.Payload), r.ID) {
			t.Errorf("got %+v, %v", e, ok)
		}
	}
}

func TestAReaderResumes(t *testing.T) {
	w := start(t)
	w.agent("main")
	var want []int64
	first := w.follow(adminToken, "/api/agents/main/events")
	for i := range 3 {
		w.ask("main", "agent:main", fmt.Sprintf(`{"i":%d}`, i))
		e, _ := first.event()
		want = append(want, e.ID)
	}
	first.stop()
	w.ask("main", "agent:main", `{"i":3}`) // while nobody reads
	for name, again := range map[string]*reader{
		"header":          w.follow(adminToken, "/api/agents/main/events", "Last-Event-ID", fmt.Sprint(want[0])),
		"query":           w.follow(adminToken, fmt.Sprintf("/api/agents/main/events?after=%d", want[0])),
		"header over all": w.follow(adminToken, "/api/agents/main/events?after=0", "Last-Event-ID", fmt.Sprint(want[0])),
	} {
		var got []int64
		for range 3 {
			e, _ := again.event()
			got = append(got, e.ID)
		}
		if got[0] != want[1] || got[1] != want[2] || got[2] <= want[2] {
			t.Errorf("%s: got %v after %d, want %v and one more", name, got, want[0], want[1:])
		}
	}
	w.admin("GET", "/api/agents/main/events", "", "Last-Event-ID", "soon").is(422, "invalid")
	w.admin("GET", "/api/agents/main/events", "", "Last-Event-ID", "-1").is(422, "invalid")
	w.admin("GET", "/api/agents/main/events?after=-1", "").is(422, "invalid")
}

func TestWithoutFollowingTheStreamEnds(t *testing.T) {
	w := start(t)
	w.agent("main")
	w.decide(w.ask("main", "agent:main", `{}`))
	stream := w.follow(adminToken, "/api/agents/main/events?follow=false")
	if got := stream.types(2); !slices.Equal(got, []string{"approval_requested", "approval_resolved"}) {
		t.Errorf("got %v", got)
	}
	if e, ok := stream.event(); ok {
		t.Errorf("one more: %+v", e)
	}
}

func TestHeartbeat(t *testing.T) {
	w := start(t, func(c *httpapi.Config) { c.Heartbeat = 10 * time.Millisecond })
	w.agent("main")
	stream := w.follow(adminToken, "/api/agents/main/events")
	if opening := stream.next(); len(opening) != 1 || !strings.HasPrefix(opening[0], "retry:") {
		t.Errorf("opening %q", opening)
	}
	for range 2 {
		if beat := stream.next(); len(beat) != 1 || !strings.HasPrefix(beat[0], ":") {
			t.Errorf("heartbeat %q", beat)
		}
	}
}

func TestAStreamEndsWithItsKey(t *testing.T) {
	w := start(t, func(c *httpapi.Config) { c.Heartbeat = 10 * time.Millisecond })
	key := w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	stream := w.follow(key, "/api/agents/main/sessions/"+segment(r.SessionID)+"/events")
	stream.types(1)
	w.admin("POST", "/api/agents/main/rotate", "").is(200)
	for stream.next() != nil {
		// Heartbeats, until the keyring has heard of it. The end of the test's
		// patience would be an error of the scanner.
	}
	if err := stream.lines.Err(); err != nil {
		t.Error(err)
	}
}

func TestStreamsEndWithTheProcess(t *testing.T) {
	ending := make(chan struct{})
	w := start(t, func(c *httpapi.Config) { c.Ending = ending })
	w.agent("main")
	stream := w.follow(adminToken, "/api/agents/main/events")
	stream.next()
	close(ending)
	if e, ok := stream.event(); ok {
		t.Errorf("one more: %+v", e)
	}
}

// A reader that accepts nothing is cut off by the deadline of a write, though
// its connection stays open.
func TestAReaderThatDoesNotReadIsCutOff(t *testing.T) {
	w := start(t, func(c *httpapi.Config) { c.WritePatience = 200 * time.Millisecond })
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	big := strings.Repeat("x", 200<<10) // more of them than the sockets between us hold
	err := db.InTx(t.Context(), w.pool, func(tx pgx.Tx) error {
		for range 100 {
			if _, err := session.Append(t.Context(), tx, "main", r.SessionID, "user_message", big); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /api/agents/main/events HTTP/1.1\r\nHost: holm\r\nAuthorization: Bearer %s\r\n\r\n", adminToken)
	select {
	case <-w.streamEnded:
	case <-time.After(20 * time.Second):
		t.Error("the stream is still open")
	}
}
