package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// demo runs `holm demo` without any setting of the tester's.
func demo(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(binaries.holm, append([]string{"demo"}, args...)...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOLM_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestDemoShowsTheWholeRound(t *testing.T) {
	before, err := filepath.Glob(filepath.Join(os.TempDir(), "holm-demo-*"))
	if err != nil {
		t.Fatal(err)
	}
	out, code := demo(t, "--yes")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	at := 0
	for _, want := range []string{"It may see: mcp__shop__orders_list", "ran at once", "🔐 refund_send on shop · amount 49.90 EUR", "49.90 EUR",
		"Approved once", "Refunded 49.90 EUR for order 1042 (refund number 1", "The call succeeded", "hash chain is intact", "What to try next"} {
		next := strings.Index(out[at:], want)
		if next < 0 {
			t.Fatalf("%q does not follow in:\n%s", want, out)
		}
		at += next
	}
	after, err := filepath.Glob(filepath.Join(os.TempDir(), "holm-demo-*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(after) > len(before) {
		t.Errorf("the demo left %v", after)
	}
}

// typist acts when it sees what it waits for.
type typist struct {
	mu   sync.Mutex
	seen bytes.Buffer
	acts []act
}

type act struct {
	see string
	do  func() error
}

func (t *typist) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.Write(p)
	for len(t.acts) > 0 && strings.Contains(t.seen.String(), t.acts[0].see) {
		do := t.acts[0].do
		t.acts = t.acts[1:]
		if err := do(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func TestDemoTakesARejectionWithItsReason(t *testing.T) {
	cmd := exec.Command(binaries.holm, "demo")
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOLM_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	types := func(line string) func() error {
		return func() error {
			_, err := io.WriteString(in, line+"\n")
			return err
		}
	}
	term := &typist{acts: []act{
		{"[r] Reject", types("x")}, {"nothing is decided", types("r too expensive")},
		{"What to try next", func() error { return cmd.Process.Signal(os.Interrupt) }},
	}}
	cmd.Stdout, cmd.Stderr = term, term
	err = cmd.Run()
	out := term.seen.String()
	if err != nil || !strings.Contains(out, "The agent was told") || !strings.Contains(out, "too expensive") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDemoThatNobodyCanAnswerSaysSo(t *testing.T) {
	out, code := demo(t) // standard input is empty
	if code != 1 || !strings.Contains(out, "holm demo --yes") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
