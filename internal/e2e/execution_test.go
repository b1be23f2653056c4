package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKillDuringExecution kills holm while an approved call runs upstream: what
// became of it nobody knows, so the caller is told that and it never runs again
// by itself.
func TestKillDuringExecution(t *testing.T) {
	p := newEmbedded(t)
	key, _ := p.setUp("main")
	arrived := p.addSlow("main")
	session := p.connect(key, "60s")
	events := p.stream("main", key, "mcp:"+session.ID())
	args := map[string]any{"ms": 60_000}
	running := laterNamed(t.Context(), session, slowTool, args)
	p.nextEvent(events, "approval_requested")
	p.holm("approvals", "approve", "1")
	arrived(1)

	p.kill()
	if got := p.within(running); got.Err == nil {
		t.Errorf("the call that was cut off: %+v", got)
	}
	p.start()
	if got := callNamed(t.Context(), p.connect(key, "60s"), slowTool, args); got.Kind != "OUTCOME_UNKNOWN" {
		t.Errorf("the retry: %+v, want an unknown outcome", got)
	}
	arrived(1)
	if outcome := p.field("outcome", "approvals", "show", "1"); outcome != "outcome_unknown" {
		t.Errorf("outcome %s", outcome)
	}
}

// TestStopWhileCallsAreHeld: SIGTERM gives waiting calls the pending result and
// a running one its time to finish.
func TestStopWhileCallsAreHeld(t *testing.T) {
	p := newProcess(t)
	key, seen := p.setUp("main")
	arrived := p.addSlow("main")
	session := p.connect(key, "5m")
	events := p.stream("main", key, "mcp:"+session.ID())
	running := laterNamed(t.Context(), session, slowTool, map[string]any{"ms": 1500})
	p.nextEvent(events, "approval_requested")
	p.holm("approvals", "approve", "1")
	arrived(1)
	held := later(t.Context(), session, map[string]any{"n": 1})
	p.nextEvent(events, "approval_requested")

	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.within(held); got.Kind != "APPROVAL_REQUIRED" || !strings.Contains(got.Text, "same arguments") {
		t.Errorf("the held call: %+v", got)
	}
	if got := p.within(running); got.Err != nil || got.Text != "done" {
		t.Errorf("the running call: %+v", got)
	}
	<-p.done
	t.Logf("stopped after %s", time.Since(began))
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}

	p.start()
	p.holm("approvals", "approve", "2")
	if got := call(t.Context(), p.connect(key, "30s"), map[string]any{"n": 1}); got.Text != "recorded" {
		t.Errorf("after the restart: %+v", got)
	}
	if ran := seen(); len(ran) != 1 {
		t.Errorf("ran %v, want once", ran)
	}
}
