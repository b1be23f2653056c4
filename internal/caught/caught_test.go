package caught_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holm/internal/caught"
)

// TestKeepBeginsAnew: a part that panics once works again; others never notice.
func TestKeepBeginsAnew(t *testing.T) {
	var log bytes.Buffer
	var wg sync.WaitGroup
	begun := 0
	caught.Keep(&wg, slog.New(slog.NewTextHandler(&log, nil)), "part", func() {
		if begun++; begun == 1 {
			panic("a fuse")
		}
	})
	wg.Wait()
	if begun != 2 || strings.Count(log.String(), "level=ERROR") != 1 || !strings.Contains(log.String(), "caught_test.go") {
		t.Errorf("begun %d times, logged %s", begun, log.String())
	}
}

// TestBegunAnswerIsCutOff: what was sent before a panic must not look like a
// whole answer.
func TestBegunAnswerIsCutOff(t *testing.T) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	handler := caught.Handler(quiet, "test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			_, _ = io.WriteString(w, "half an answer")
			_ = http.NewResponseController(w).Flush()
		}
		panic("a fuse")
	}), func(w http.ResponseWriter) { http.Error(w, "failed", http.StatusInternalServerError) })
	server := httptest.NewServer(handler)
	defer server.Close()
	if resp, err := http.Get(server.URL); err != nil || resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("got %v, %v", resp, err)
	}
	resp, err := http.Get(server.URL + "/late")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%q came as a whole answer", text)
	}
}
