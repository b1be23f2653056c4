package upstream_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

// gone tells whether no process has this pid any more.
func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// Fault 1: processes that never end, and what they started.
func TestFault01NothingIsLeftOfTheProcessGroup(t *testing.T) {
	f := newFixture(t, fix.Grandchild, fix.IgnoreEOF, fix.IgnoreTerm)
	c, stop := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	grandchild, err := strconv.Atoi(fileLines(t, f.opts.State)[0])
	if err != nil {
		t.Fatal(err)
	}
	pid := c.Health().PID
	stop()
	if !gone(pid) {
		t.Errorf("the server %d still runs", pid)
	}
	eventually(t, "the grandchild to end", func() bool { return zombieOrGone(grandchild) })
	if got := c.Health(); got.PID != 0 || got.State != upstream.Idle {
		t.Errorf("health after the end: %+v", got)
	}
}

// Fault 1, the other way to end: the server goes first, by itself.
func TestFault01GrandchildrenEndWithACrashedServer(t *testing.T) {
	f := newFixture(t, fix.Grandchild)
	c, _ := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	grandchild, err := strconv.Atoi(fileLines(t, f.opts.State)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, c, "crash", `{}`); !isLost(err) {
		t.Fatalf("crash: %v", err)
	}
	eventually(t, "the grandchild to end", func() bool { return zombieOrGone(grandchild) })
}

// Faults 2 and 3: one process however many callers come first.
func TestFault02ConcurrentFirstCallsStartOneProcess(t *testing.T) {
	f := newFixture(t, fix.SlowStart)
	c, _ := start(t, f.server, quickConfig())
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() { _, _ = call(t, c, "record", `{}`) })
	}
	all.Wait()
	if n := count(f.traced(t), `"method":"initialize"`); n != 1 || len(f.logged(t)) != 30 {
		t.Errorf("%d handshakes, %d calls", n, len(f.logged(t)))
	}
}

// Fault 4: a mebibyte on stderr at the start and in each call.
func TestFault04StderrIsDrained(t *testing.T) {
	f := newFixture(t, fix.StderrFlood)
	c, _ := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	mustCall(t, c, "echo", `{}`)
	tail := c.Health().StderrTail
	if len(tail) != 100 || tail[99] != strings.Repeat("e", 127) {
		t.Errorf("tail of %d lines", len(tail))
	}
}

// Fault 5: nothing is sent before initialize.
func TestFault05NoProbeBeforeInitialize(t *testing.T) {
	f := newFixture(t, fix.DiesOnUnknown)
	c, _ := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	trace := f.traced(t)
	if !strings.Contains(trace[0], `"method":"initialize"`) || !strings.Contains(trace[1], `notifications/initialized`) {
		t.Errorf("handshake was %q", trace[:2])
	}
	if c.Health().Restarts != 0 {
		t.Error("the server was started again")
	}
}

// Fault 6: text among the messages.
func TestFault06NoiseOnStdoutIsSkippedAndCounted(t *testing.T) {
	f := newFixture(t, fix.StdoutNoise)
	c, _ := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	if got := c.Health().SkippedLines; got < 6 {
		t.Errorf("%d lines skipped", got)
	}
}

// Fault 7: neither EOF nor SIGTERM is obeyed.
func TestFault07StopIsBounded(t *testing.T) {
	for name, modes := range map[string][]string{
		"eof ignored": {fix.IgnoreEOF}, "term ignored": {fix.IgnoreEOF, fix.IgnoreTerm}, "stops reading": {fix.StopsReading},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, modes...)
			c, stop := start(t, f.server, quickConfig())
			c.Tools(shortly(t)) // starts it; a server that stops reading answers nothing
			pid := c.Health().PID
			stop()
			if pid == 0 || !gone(pid) {
				t.Errorf("the server %d still runs", pid)
			}
		})
	}
}

// Fault 8: a crash fails its call; the next one works.
func TestFault08CrashInACall(t *testing.T) {
	f := newFixture(t)
	c, _ := start(t, f.server, quickConfig())
	for range 3 {
		if _, err := call(t, c, "crash", `{}`); !isLost(err) {
			t.Fatalf("crash: %v", err)
		}
		mustCall(t, c, "record", `{"n":1}`)
	}
	if h := c.Health(); h.Restarts != 3 || h.State != upstream.Up || !strings.Contains(h.LastError, "exit status 3") {
		t.Errorf("health %+v", h)
	}
}

// Fault 8: a kill from outside while a call is under way.
func TestFault08KillInACall(t *testing.T) {
	f := newFixture(t)
	c, _ := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	progressed := make(chan struct{}, 16)
	lost := make(chan error, 1)
	go func() {
		_, err := c.Call(within(t), upstream.CallRequest{
			Tool: "slow", Arguments: json.RawMessage(`{"ms":60000,"progress":6000}`),
			OnProgress: func(json.RawMessage) { progressed <- struct{}{} },
		})
		lost <- err
	}()
	<-progressed
	if err := syscall.Kill(c.Health().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !isLost(err) {
		t.Errorf("the call ended with %v", err)
	}
	mustCall(t, c, "echo", `{}`)
}

// Fault 8: the list is read again after a restart.
func TestFault08ListIsFreshAfterRestart(t *testing.T) {
	f := newFixture(t)
	changed := make(chan struct{}, 16)
	cfg := quickConfig()
	cfg.OnChange = func() { changed <- struct{}{} }
	c, _ := start(t, f.server, cfg)
	mustCall(t, c, "change", `{}`) // only in the memory of this process
	waitForTool(t, c, changed, "added", true)
	if _, err := call(t, c, "crash", `{}`); !isLost(err) {
		t.Fatal(err)
	}
	waitForTool(t, c, changed, "added", false)
}

func waitForTool(t *testing.T, c *upstream.Client, changed <-chan struct{}, name string, want bool) {
	t.Helper()
	for {
		if slices.ContainsFunc(mustList(t, c), named(name)) == want {
			return
		}
		select {
		case <-changed:
		case <-time.After(limit):
			t.Fatalf("the list never came to have %s: %v", name, want)
		}
	}
}

// Fault 9: calls that time out lead to one ping, and "method not found" to a
// ping is a sign of life.
func TestFault09MethodNotFoundIsASignOfLife(t *testing.T) {
	f := newFixture(t, fix.DeafCalls)
	f.server.CallTimeout = 20 * time.Millisecond
	c, _ := start(t, f.server, quickConfig())
	for range 3 {
		if _, err := call(t, c, "echo", `{}`); !isLost(err) {
			t.Fatalf("call: %v", err)
		}
	}
	eventually(t, "a ping", func() bool { return count(f.traced(t), `"method":"ping"`) == 1 })
	if _, err := call(t, c, "echo", `{}`); !isLost(err) {
		t.Fatalf("call: %v", err)
	}
	if h := c.Health(); h.State != upstream.Up || h.Restarts != 0 {
		t.Errorf("health %+v", h)
	}
}

// Fault 10: a server that answers nothing.
func TestFault10TimeoutHoldsForStdio(t *testing.T) {
	f := newFixture(t, fix.BlackHole)
	f.server.CallTimeout = 30 * time.Millisecond
	c, _ := start(t, f.server, quickConfig())
	if _, err := call(t, c, "echo", `{}`); !isLost(err) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("call: %v", err)
	}
	eventually(t, "the cancellation", func() bool { return count(f.traced(t), "notifications/cancelled") == 1 })
}

// Fault 10: a server that stops reading blocks nobody beyond their time.
func TestFault10FullPipeDoesNotBlockCallers(t *testing.T) {
	f := newFixture(t, fix.StopsReading)
	f.server.CallTimeout = 100 * time.Millisecond
	c, _ := start(t, f.server, quickConfig())
	large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	if _, err := call(t, c, "echo", large); !isLost(err) {
		t.Errorf("the call that fills the pipe: %v", err)
	}
	if _, err := call(t, c, "echo", large); !isUnavailable(err) {
		t.Errorf("the call behind it was never written: %v", err)
	}
}

// Fault 11: calls run beside each other.
func TestFault11CallsRunInParallel(t *testing.T) {
	f := newFixture(t)
	c, _ := start(t, f.server, quickConfig())
	mustCall(t, c, "echo", `{}`)
	begun := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := call(t, c, "slow", `{"ms":1000}`); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took > 10*time.Second { // one after the other: 50 s
		t.Errorf("50 calls of a second took %v", took)
	}
}

// Fault 14: a failed start is tried again.
func TestFault14FailedStartIsTriedAgain(t *testing.T) {
	f := newFixture(t, fix.CrashFirst)
	c, _ := start(t, f.server, quickConfig())
	if _, err := call(t, c, "echo", `{}`); !isUnavailable(err) {
		t.Errorf("first call: %v", err)
	}
	eventually(t, "the second start", func() bool { return c.Health().State == upstream.Up })
	mustCall(t, c, "echo", `{}`)
}

func TestFault14RetriesGoOnForEver(t *testing.T) {
	f := newFixture(t, fix.CrashAtStart)
	c, _ := start(t, f.server, quickConfig())
	if _, err := call(t, c, "echo", `{}`); !isUnavailable(err) {
		t.Errorf("call: %v", err)
	}
	eventually(t, "several starts", func() bool { return count(c.Health().StderrTail, "crashing at the start") >= 4 })
	begun := time.Now()
	if _, err := call(t, c, "echo", `{}`); !isUnavailable(err) || time.Since(begun) > 5*time.Second {
		t.Errorf("call while down: %v after %v", err, time.Since(begun))
	}
}

func TestMissingProgramIsReported(t *testing.T) {
	c, _ := start(t, upstream.Server{Name: "none", Command: []string{"/no/such/program"}}, quickConfig())
	if _, err := c.Tools(within(t)); !isUnavailable(err) {
		t.Errorf("Tools: %v", err)
	}
	if h := c.Health(); h.State != upstream.Down || !strings.Contains(h.LastError, "no such file") {
		t.Errorf("health %+v", h)
	}
}

// The environment of a child is what the server says, PATH and HOME.
func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("HOLM_SECRET_OF_THE_GATEWAY", "do not leak")
	f := newFixture(t)
	f.server.Env["TOKEN"] = "for-the-child"
	c, _ := start(t, f.server, quickConfig())
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(mustCall(t, c, "environment", `{}`)), &result); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(result.Content[0].Text) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	want := []string{"FIXTURE_LOG", "FIXTURE_MODES", "FIXTURE_STATE", "FIXTURE_TRACE", "HOLM_FIXTURE", "HOME", "PATH", "TOKEN"}
	if !slices.Equal(names, want) {
		t.Errorf("environment %v", names)
	}
}

func isLost(err error) bool { var e *upstream.LostError; return errors.As(err, &e) }

func isUnavailable(err error) bool { var e *upstream.UnavailableError; return errors.As(err, &e) }

// count is how many lines contain text.
func count(lines []string, text string) int {
	n := 0
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
