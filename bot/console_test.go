package bot_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"holm/approvals"
	"holm/channels/console"
	"holm/policy"
)

// lockedBuffer is a screen that several goroutines may print on.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestTheConsoleDecidesThroughTheSameWay(t *testing.T) {
	for name, c := range map[string]struct {
		auto bool
		keys string
		want approvals.Status
	}{
		"by itself":      {auto: true, want: approvals.Approved},
		"typed in words": {keys: "reject 1 no\n", want: approvals.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			screen := &lockedBuffer{}
			terminal := must(console.New(console.Config{In: strings.NewReader(c.keys), Out: screen, Auto: c.auto}))
			w := idleWorld(t, terminal)
			w.member("console", "you", policy.Owner, "main")
			r := w.ask(`{"title":"hello"}`)
			w.start()
			ctx, cancel := context.WithCancel(w.ctx)
			done := make(chan error)
			go func() { done <- w.bot.Run(ctx) }()
			w.poll("the request "+string(c.want), func() bool { return w.now(r).Status == c.want })
			w.settled()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			contains(t, screen.String(), "request #1")
		})
	}
}
