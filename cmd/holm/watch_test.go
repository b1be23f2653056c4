package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// told is standard error that says when a text has come.
type told struct {
	mu   sync.Mutex
	all  bytes.Buffer
	want string
	came func()
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if strings.Contains(w.all.String(), w.want) {
		w.came()
	}
	return len(p), nil
}

// TestWatchSaysThatNobodyCanAnswer: with a closed standard input --answer is a
// display, and says so.
func TestWatchSaysThatNobodyCanAnswer(t *testing.T) {
	s, err := startScripted(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLM_URL", s.url)
	t.Setenv("HOLM_ADMIN_TOKEN", scriptedToken)
	if got := runHolm(t, "add", "agent", "claude"); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	heard := &told{want: "nobody can answer here", came: cancel}
	if code := run(ctx, []string{"approvals", "watch", "claude", "--answer"}, strings.NewReader(""), io.Discard, heard); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if got := heard.all.String(); strings.Count(got, "nobody can answer here") != 1 {
		t.Errorf("standard error: %s", got)
	}
}
