package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"holm/internal/client"
	"holm/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// breaking is a server whose stream breaks after each event; the reader is
// sent the last event that it has once more, as after a lost confirmation. Each
// begins with an event for the wire alone.
type breaking struct {
	mu     sync.Mutex
	asked  []string
	events int
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.asked = append(b.asked, r.Header.Get("Last-Event-ID"))
	n := len(b.asked)
	b.mu.Unlock()
	if n > b.events {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"status":401,"code":"invalid_key","detail":"the access key is not valid"}`)
		return
	}
	fmt.Fprint(w, "event: approval_pending\ndata: {\"type\":\"approval_pending\"}\n\n")
	for id := max(n-1, 1); id <= n; id++ {
		fmt.Fprintf(w, ": comment\n\nid: %d\nevent: user_message\ndata: {\"id\":%d,\"type\":\"user_message\"}\n\n", id, id)
	}
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func TestABrokenStreamIsTakenUpAgain(t *testing.T) {
	b := &breaking{events: 2}
	server := httptest.NewServer(b)
	defer server.Close()
	c := client.New(server.URL, "token", "test")
	defer c.Close()
	var got []int64
	interrupted := 0
	err := c.Read(t.Context(), client.Events{Agent: "main", Follow: true, Interrupted: func(error) { interrupted++ }},
		func(e session.Event) error { got = append(got, e.ID); return nil })
	// The server's refusal is what ends it.
	var refused *client.Problem
	if !errors.As(err, &refused) || refused.Code != "invalid_key" {
		t.Errorf("ended with %v", err)
	}
	if !slices.Equal(got, []int64{0, 1, 0, 2}) || !slices.Equal(b.asked, []string{"0", "1", "2"}) || interrupted != 2 {
		t.Errorf("got %v after asking with %v, interrupted %d times", got, b.asked, interrupted)
	}
}

func TestABrokenStreamIsAnErrorWithoutFollowing(t *testing.T) {
	server := httptest.NewServer(&breaking{events: 1})
	defer server.Close()
	c := client.New(server.URL, "token", "test")
	defer c.Close()
	err := c.Read(t.Context(), client.Events{Agent: "main"}, func(session.Event) error { return nil })
	if lost := new(client.UnreachableError); !errors.As(err, &lost) {
		t.Errorf("got %v", err)
	}
}

func TestAFailedEmitEndsReading(t *testing.T) {
	server := httptest.NewServer(&breaking{events: 1})
	defer server.Close()
	c := client.New(server.URL, "token", "test")
	defer c.Close()
	closed := errors.New("the pipe is closed")
	err := c.Read(t.Context(), client.Events{Agent: "main", Follow: true}, func(session.Event) error { return closed })
	if !errors.Is(err, closed) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoHolmIsNotTaken(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"page":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"other 404":  http.NotFound,
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprint(w, `{"error":"x"}`) },
	} {
		server := httptest.NewServer(handler)
		c := client.New(server.URL, "token", "test")
		_, err := c.Agents(t.Context())
		if lost := new(client.UnreachableError); !errors.As(err, &lost) {
			t.Errorf("%s: got %v", name, err)
		}
		c.Close()
		server.Close()
	}
}
