package upstream_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holm/gateway/upstream"
	"holm/internal/testkit/upstreamfixture"
)

func TestMain(m *testing.M) {
	upstreamfixture.RunIfAsked()
	runSDKServerIfAsked()
	runGatewayIfAsked()
	goleak.VerifyTestMain(m)
}

// limit bounds what a test waits for; a test that reaches it fails.
const limit = time.Minute

// fixture is a child-process upstream with modes and its files.
type fixture struct {
	server upstream.Server
	opts   upstreamfixture.Options
}

func newFixture(t testing.TB, modes ...string) *fixture {
	t.Helper()
	dir := t.TempDir()
	opts := upstreamfixture.Options{
		Modes: modes, Log: filepath.Join(dir, "log"), Trace: filepath.Join(dir, "trace"), State: filepath.Join(dir, "state"),
	}
	command, err := upstreamfixture.Command()
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{upstream.Server{Name: "fix", Command: command, Env: opts.Env()}, opts}
}

// logged are the lines of the record log.
func (f *fixture) logged(t *testing.T) []string { return fileLines(t, f.opts.Log) }

func (f *fixture) traced(t *testing.T) []string { return fileLines(t, f.opts.Trace) }

func fileLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// quickConfig has short pauses and silent logs.
func quickConfig() upstream.Config {
	return upstream.Config{
		Logger:   slog.New(slog.DiscardHandler),
		RetryMin: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond,
		StopGrace: 200 * time.Millisecond, DrainTimeout: 200 * time.Millisecond,
	}
}

// start runs a client until the test ends; stop ends it earlier.
func start(t testing.TB, server upstream.Server, cfg upstream.Config) (client *upstream.Client, stop func()) {
	t.Helper()
	client, err := upstream.New(server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(limit):
			t.Error("Run did not end")
		}
	}
	t.Cleanup(stop)
	return client, stop
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func call(t *testing.T, c *upstream.Client, tool, arguments string) (string, error) {
	t.Helper()
	result, err := c.Call(within(t), upstream.CallRequest{Tool: tool, Arguments: json.RawMessage(arguments)})
	return string(result), err
}

func mustCall(t *testing.T, c *upstream.Client, tool, arguments string) string {
	t.Helper()
	result, err := call(t, c, tool, arguments)
	if err != nil {
		t.Fatalf("calling %s: %v", tool, err)
	}
	return result
}

// eventually polls where there is no signal to wait for: the state of another
// process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited too long for: %s", what)
}

// shortly is for calls that are meant to run out of time.
func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// zombieOrGone is for processes that are nobody's children here: whoever
// inherits them may be slow to reap.
func zombieOrGone(pid int) bool {
	if gone(pid) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false // asked again: it has gone, or this system has no /proc
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}
