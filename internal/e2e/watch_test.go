package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watching is a running `holm approvals watch`.
type watching struct {
	p     *process
	cmd   *exec.Cmd
	keys  io.WriteCloser
	lines chan string
}

func (p *process) watch(args ...string) *watching {
	p.t.Helper()
	w := &watching{p: p, cmd: exec.Command(binaries.holm, append([]string{"approvals", "watch"}, args...)...), lines: make(chan string, 1000)}
	w.cmd.Env = append(p.environ(), "HOLM_URL="+p.url, "HOLM_ADMIN_TOKEN=e2e-admin-token-of-watch")
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if w.keys, err = w.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	w.cmd.Stderr = w.cmd.Stdout
	if err := w.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		defer close(w.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	return w
}

// sees waits for a line that holds every part.
func (w *watching) sees(parts ...string) string {
	w.p.t.Helper()
	timeout := time.After(patience)
	var seen []string
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				w.p.t.Fatalf("the watch ended before %v; it showed:\n%s", parts, strings.Join(seen, "\n"))
			}
			seen = append(seen, line)
			found := true
			for _, part := range parts {
				found = found && strings.Contains(line, part)
			}
			if found {
				return line
			}
		case <-timeout:
			w.p.t.Fatalf("never saw %v; it showed:\n%s", parts, strings.Join(seen, "\n"))
		}
	}
}

func (w *watching) types(line string) {
	w.p.t.Helper()
	if _, err := io.WriteString(w.keys, line+"\n"); err != nil {
		w.p.t.Fatal(err)
	}
}

// interrupt is Ctrl-C; the watch has to end well.
func (w *watching) interrupt() {
	w.p.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.p.t.Fatal(err)
	}
	for range w.lines { // read before Wait closes the pipe
	}
	if err := w.cmd.Wait(); err != nil {
		w.p.t.Errorf("Ctrl-C: %v", err)
	}
}

func TestWatchAnswersInTheTerminal(t *testing.T) {
	p := newProcess(t, "HOLM_ADMIN_TOKEN=e2e-admin-token-of-watch")
	key, seen := p.setUp("main")
	session := p.connect(key, "60s")
	first := later(t.Context(), session, map[string]any{"n": 1})
	w := p.watch("main", "--answer")
	w.sees("Request #1: mcp__fix__record")
	w.sees("[a] approve this call")
	w.types("x")
	w.sees("Not understood")
	w.types("a")
	w.sees("#1", "approved", "this call by the operator")
	w.sees("#1", "succeeded")
	if got := p.within(first); got.Text != "recorded" {
		t.Errorf("approved: %+v", got)
	}
	w.types("a")
	w.sees("Nothing waits")

	second := later(t.Context(), session, map[string]any{"n": 2})
	w.sees("Request #2")
	w.sees("[r] reject")
	w.types("r not today")
	w.sees("#2", "rejected", "not today")
	if got := p.within(second); got.Kind != "APPROVAL_REJECTED" || !strings.Contains(got.Text, "not today") {
		t.Errorf("rejected: %+v", got)
	}

	// A key that was meant for a question answered elsewhere decides no other.
	third, fourth := later(t.Context(), session, map[string]any{"n": 3}), later(t.Context(), session, map[string]any{"n": 4})
	w.sees("[a] approve")
	w.sees("#4", "waits")
	p.holm("approvals", "reject", "3")
	p.within(oneOf(third, fourth))
	w.sees("[a] approve")
	w.types("a")
	w.sees("answered elsewhere")
	w.types("s")
	w.sees("left to others")
	p.holm("approvals", "reject", "4")
	w.sees("#4", "rejected")

	// Where more people are needed, an answer is one of theirs.
	p.holm("policy", "set", "main", "tool", "mcp__fix__record", "require_approval", "--scope", `{"approval":{"quorum":2}}`)
	fifth := later(t.Context(), session, map[string]any{"n": 5})
	w.sees("Request #5")
	w.sees("[d] try differently")
	w.types("a")
	w.sees("Your approval of request #5 counts: 1 of 2 approvals.")
	p.holm("approvals", "reject", "5", "--try-differently", "--reason", "a branch, not main")
	w.sees("#5", "rejected", "to be tried differently: a branch, not main")
	if got := p.within(fifth); got.Kind != "APPROVAL_REJECTED" || !strings.Contains(got.Text, "try it differently") {
		t.Errorf("to be tried differently: %+v", got)
	}
	w.interrupt()
	if len(seen()) != 1 {
		t.Errorf("ran %v", seen())
	}
}

func oneOf[T any](a, b <-chan T) <-chan T {
	c := make(chan T, 1)
	go func() {
		select {
		case v := <-a:
			c <- v
		case v := <-b:
			c <- v
		}
	}()
	return c
}

// TestWatchOutlivesTheServer: what happened while it was away is shown, too.
func TestWatchOutlivesTheServer(t *testing.T) {
	p := newProcess(t, "HOLM_ADMIN_TOKEN=e2e-admin-token-of-watch")
	key, _ := p.setUp("main")
	w := p.watch("--json", "main")
	ask := func(n int) {
		session := p.connect(key, "0s")
		if got := p.within(later(t.Context(), session, map[string]any{"n": n})); got.Kind != "APPROVAL_REQUIRED" {
			t.Fatalf("asked: %+v", got)
		}
	}
	ask(1)
	w.sees(`"type":"approval_pending"`, `"shortId":1`)
	p.env = append(p.env, "HOLM_LISTEN="+strings.TrimPrefix(p.url, "http://"))
	p.kill()
	w.sees("trying again")
	p.start()
	p.holm("approvals", "approve", "1")
	ask(2)
	// The decision may have come before the watch was back.
	for decided, pending := false, false; !decided || !pending; {
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(w.sees(`{"`)), &e); err != nil {
			t.Fatal(err)
		}
		decided = decided || e.Type == "approval_resolved"
		pending = pending || e.Type == "approval_pending"
	}
	w.interrupt()
}
