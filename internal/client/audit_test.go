package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"holm/internal/audit"
	"holm/internal/client"
)

// faltering answers every other look at the log; the rest are lost. It ends
// with a refusal.
type faltering struct {
	mu    sync.Mutex
	asked []string
}

func (f *faltering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.Query().Get("after"))
	switch n := len(f.asked); {
	case n == 5:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"status":401,"code":"invalid_key","detail":"no more"}`)
	case n%2 == 0:
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Connection", "close") // else net/http itself asks again
		fmt.Fprintf(w, `{"calls":[{"seq":%d,"tool":"t","status":"allowed"}],"next":%d}`, n*10, n*10+1)
	}
}

func TestALostLogIsFollowedOn(t *testing.T) {
	f := &faltering{}
	server := httptest.NewServer(f)
	defer server.Close()
	c := client.New(server.URL, "token", "test")
	defer c.Close()
	var got []int64
	interrupted := 0
	err := c.Log(t.Context(), client.Calls{Last: 5, Follow: true, Interrupted: func(error) { interrupted++ }},
		func(call audit.Call) error { got = append(got, call.Seq); return nil })
	var refused *client.Problem
	if !errors.As(err, &refused) || refused.Code != "invalid_key" {
		t.Errorf("ended with %v", err)
	}
	if !slices.Equal(got, []int64{10, 30}) || interrupted != 2 {
		t.Errorf("got %v, %d interruptions", got, interrupted)
	}
	if want := []string{"-1", "11", "11", "31", "31"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked after %v, want %v", f.asked, want)
	}
}

// Without -f a server that is lost is a failure.
func TestALostLogIsAFailure(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	c := client.New(server.URL, "token", "test")
	defer c.Close()
	for _, follow := range []bool{false, true} {
		err := c.Log(t.Context(), client.Calls{Last: 5, Follow: follow}, func(audit.Call) error { return nil })
		var lost *client.UnreachableError
		if !errors.As(err, &lost) {
			t.Errorf("follow %v: %v", follow, err)
		}
	}
}
