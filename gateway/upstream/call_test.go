package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

// slowly begins a call that reports progress and returns once it runs.
func slowly(t *testing.T, ctx context.Context, c *upstream.Client) <-chan error {
	t.Helper()
	runs, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		_, err := c.Call(ctx, upstream.CallRequest{
			Tool: "slow", Arguments: json.RawMessage(`{"ms":60000,"progress":6000}`),
			OnProgress: func(json.RawMessage) { once.Do(func() { close(runs) }) },
		})
		ended <- err
	}()
	select {
	case <-runs:
	case err := <-ended:
		t.Fatalf("the slow call ended with %v", err)
	case <-time.After(limit):
		t.Fatal("the slow call never began")
	}
	return ended
}

// Fault 38: the upstream sees its own id cancelled.
func TestFault38CancellationReachesTheServer(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		ctx, cancel := context.WithCancelCause(within(t))
		ended := slowly(t, ctx, c)
		why := errors.New("the user left")
		cancel(why)
		if err := <-ended; !isLost(err) || !errors.Is(err, why) {
			t.Errorf("the call ended with %v", err)
		}
		eventually(t, "the server to stop the call", func() bool { return count(fileLines(t, opts.Log), "cancelled") == 1 })
	})
}

// Fault 38: a call that waits for its place is cancelled without being sent.
func TestFault38QueuedCallIsNotSent(t *testing.T) {
	f := newFixture(t)
	f.server.MaxConcurrent = 1
	c, _ := start(t, f.server, quickConfig())
	ctx, cancel := context.WithCancel(within(t))
	ended := slowly(t, ctx, c)
	queued, leave := context.WithTimeout(within(t), 50*time.Millisecond)
	defer leave()
	if _, err := c.Call(queued, upstream.CallRequest{Tool: "record"}); !isUnavailable(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the queued call ended with %v", err)
	}
	cancel()
	<-ended
	mustCall(t, c, "echo", `{}`)
	if got := count(f.logged(t), "{}"); got != 0 {
		t.Error("the queued call was sent")
	}
}

// Faults 39 and 1.6: each call gets its own progress, all of it, in order,
// before its result.
func TestFault39ProgressIsSeparateAndComplete(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		var all sync.WaitGroup
		for n := 1; n <= 8; n++ {
			all.Go(func() { checkProgress(t, c, n) })
		}
		all.Wait()
	})
}

func checkProgress(t *testing.T, c *upstream.Client, steps int) {
	var got []string
	_, err := c.Call(within(t), upstream.CallRequest{
		Tool: "slow", Arguments: json.RawMessage(fmt.Sprintf(`{"ms":20,"progress":%d}`, steps)),
		Meta:       json.RawMessage(`{"progressToken":"the same for all"}`),
		OnProgress: func(params json.RawMessage) { got = append(got, string(params)) },
	})
	if err != nil || len(got) != steps {
		t.Errorf("%d of %d reports, %v", len(got), steps, err)
		return
	}
	for i, params := range got {
		if want := fmt.Sprintf(`{"progress":%d,"total":%d,"big":9007199254740993}`, i+1, steps); params != want {
			t.Errorf("report %s, want %s", params, want)
		}
	}
}

// Fault 40: progress after the end and with foreign tokens goes nowhere.
func TestFault40LateProgressIsDropped(t *testing.T) {
	f := newFixture(t, fix.LateProgress)
	c, _ := start(t, f.server, quickConfig())
	reports := 0
	req := upstream.CallRequest{
		Tool: "slow", Arguments: json.RawMessage(`{"ms":1}`), OnProgress: func(json.RawMessage) { reports++ },
	}
	for n := 1; n <= 20; n++ {
		if _, err := c.Call(within(t), req); err != nil || reports != n {
			t.Fatalf("call %d: %d reports, %v", n, reports, err)
		}
	}
	mustCall(t, c, "echo", `{}`)
}

// Log lines reach a call only when they are certainly its own.
func TestLogsReachTheirCall(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		var logs []string
		_, err := c.Call(within(t), upstream.CallRequest{
			Tool: "slow", Arguments: json.RawMessage(`{"ms":1}`),
			OnLog: func(params json.RawMessage) { logs = append(logs, string(params)) },
		})
		if err != nil || strings.Join(logs, "") != `{"level":"info","data":"almost done"}` {
			t.Errorf("logs %q, %v", logs, err)
		}
	})
}

func TestLogsOfStdioDoNotReachAnotherCall(t *testing.T) {
	c, _ := start(t, newFixture(t).server, quickConfig())
	ctx, cancel := context.WithCancel(within(t))
	ended := slowly(t, ctx, c)
	_, err := c.Call(within(t), upstream.CallRequest{
		Tool: "slow", Arguments: json.RawMessage(`{"ms":1}`),
		OnLog: func(params json.RawMessage) { t.Errorf("a log line of nobody knows whom: %s", params) },
	})
	if err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
}

// Progress gives a call its time anew, but not for ever.
func TestProgressExtendsTheTimeout(t *testing.T) {
	f := newFixture(t)
	f.server.CallTimeout = 300 * time.Millisecond
	cfg := quickConfig()
	cfg.MaxCallTime = time.Second
	c, _ := start(t, f.server, cfg)
	req := upstream.CallRequest{
		Tool: "slow", Arguments: json.RawMessage(`{"ms":600,"progress":20}`), OnProgress: func(json.RawMessage) {},
	}
	if _, err := c.Call(within(t), req); err != nil {
		t.Errorf("a call with progress: %v", err)
	}
	req.Arguments = json.RawMessage(`{"ms":60000,"progress":2000}`)
	if _, err := c.Call(within(t), req); !isLost(err) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("a call with endless progress: %v", err)
	}
}

// Fault 41: after a crash the call is not sent to the next process.
func TestFault41CallIsNeverSentTwice(t *testing.T) {
	f := newFixture(t, fix.CrashMidCall)
	c, _ := start(t, f.server, quickConfig())
	if _, err := call(t, c, "record", `{"once":1}`); !isLost(err) {
		t.Fatalf("call: %v", err)
	}
	eventually(t, "the restart", func() bool { return c.Health().Restarts == 1 && count(f.traced(t), "tools/list") == 2 })
	if n := count(f.traced(t), `"once":1`); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

// Fault 42: the end does not wait for running calls beyond its bound.
func TestFault42ShutdownEndsRunningCalls(t *testing.T) {
	for name, server := range map[string]upstream.Server{"stdio": newFixture(t).server, "http": serveFixture(t).server} {
		t.Run(name, func(t *testing.T) {
			c, stop := start(t, server, quickConfig())
			ended := slowly(t, within(t), c)
			begun := time.Now()
			stop()
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("the end took %v", took)
			}
			if err := <-ended; !isLost(err) || !strings.Contains(err.Error(), "shutting down") {
				t.Errorf("the call ended with %v", err)
			}
			if _, err := call(t, c, "echo", `{}`); !isUnavailable(err) {
				t.Errorf("a call after the end: %v", err)
			}
		})
	}
}

func TestDrainLetsShortCallsFinish(t *testing.T) {
	f := newFixture(t)
	cfg := quickConfig()
	cfg.DrainTimeout = limit
	c, stop := start(t, f.server, cfg)
	mustCall(t, c, "echo", `{}`)
	runs, ended := make(chan struct{}, 16), make(chan error, 1)
	go func() {
		_, err := c.Call(within(t), upstream.CallRequest{
			Tool: "slow", Arguments: json.RawMessage(`{"ms":300,"progress":10}`),
			OnProgress: func(json.RawMessage) { runs <- struct{}{} },
		})
		ended <- err
	}()
	<-runs
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the call ended with %v", err)
	}
}

// Requests of the server are answered, so that nothing hangs on them.
func TestServerRequestsAreAnswered(t *testing.T) {
	both(t, nil, func(t *testing.T, c *upstream.Client, opts fix.Options) {
		if got := mustCall(t, c, "ask", `{}`); !strings.Contains(got, "all answered") {
			t.Errorf("got %s", got)
		}
		trace := fileLines(t, opts.Trace)
		if count(trace, `"result":{}}`) != 1 || count(trace, `"code":-32601`) != 3 {
			t.Errorf("answers in %q", trace)
		}
	})
}
