package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/internal/db"
	"holm/internal/db/embedded"
)

// database is a PostgreSQL server of the test's own that can be away.
type database struct {
	t      *testing.T
	dir    string
	server *embedded.Server
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	dir, err := os.MkdirTemp("", "holm-e2e-db-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // the database's user must get in
		t.Fatal(err)
	}
	d := &database{t: t, dir: dir}
	d.start()
	t.Cleanup(d.stop)
	pool, err := db.Open(t.Context(), d.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := db.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *database) start() {
	d.t.Helper()
	var err error
	// Not Fast: what was committed must be there after a crash.
	if d.server, err = embedded.Start(d.t.Context(), embedded.Config{DataDir: d.dir}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *database) stop() {
	d.t.Helper()
	if err := d.server.Stop(context.Background()); err != nil {
		d.t.Error(err)
	}
}

// crash ends the server as pg_ctl stop -m immediate does.
func (d *database) crash() {
	d.t.Helper()
	note, err := os.ReadFile(filepath.Join(d.dir, "postgres", "postmaster.pid"))
	if err != nil {
		d.t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(note), &pid); err != nil {
		d.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		d.t.Fatal(err)
	}
	<-d.server.Done()
	d.stop()
}

// TestDatabaseCrashesUnderLoad crashes PostgreSQL while many calls are held and
// the operator answers them; one is answered by a tap once it is back.
func TestDatabaseCrashesUnderLoad(t *testing.T) {
	const calls = 30
	d := newDatabase(t)
	telegram, owner, env := withTelegram(t)
	p := startIn(t, append(env, "HOLM_DATABASE_URL="+d.server.URL(),
		"HOLM_MAX_OPEN_PER_SESSION=100", "HOLM_MAX_OPEN_PER_REQUESTER=100"))
	key, seen := p.setUp("main")
	var answers []<-chan reply
	var want []string
	for n := range calls {
		answers = append(answers, insist(t.Context(), p.url, key, map[string]any{"n": n}))
		want = append(want, fmt.Sprintf(`{"n":%d}`, n))
	}
	card := telegram.WaitMessage(ownerID, open)
	p.asked(fmt.Sprint(calls))

	open := make(chan string, calls)
	for id := 1; id <= calls; id++ {
		if !strings.Contains(card.Text, fmt.Sprintf("#%d\n", id)) {
			open <- fmt.Sprint(id)
		}
	}
	if len(open) != calls-1 {
		t.Fatalf("whose card is this?\n%s", card.Text)
	}
	close(open)
	began := make(chan struct{}, calls)
	var operators sync.WaitGroup
	for range 3 {
		operators.Go(func() {
			for id := range open {
				began <- struct{}{}
				p.insistOnApproval(id)
			}
		})
	}
	for range calls / 3 {
		<-began
	}
	d.crash()
	d.start()
	operators.Wait()
	telegram.WaitAnswer(owner.Click(card, "Approve this call"))

	for n, answer := range answers {
		if got := p.within(answer); got.Text != "recorded" {
			t.Errorf("call %d: %+v", n, got)
		}
	}
	ran := seen()
	slices.Sort(ran)
	slices.Sort(want)
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("want each once: %s", diff)
	}
	p.eventually(func() error {
		if status := p.status("/readyz"); status != http.StatusOK {
			return fmt.Errorf("readyz: %d", status)
		}
		return nil
	})
	telegram.Settle()
}

// insistOnApproval approves a request, whatever the database does meanwhile.
func (p *process) insistOnApproval(id string) {
	deadline := time.Now().Add(patience)
	for {
		out, code := p.try("approvals", "approve", id, "--single")
		if code == 0 || strings.Contains(out, "already approved") {
			return
		}
		if time.Now().After(deadline) {
			p.t.Errorf("approve %s: %s", id, out)
			return
		}
	}
}

// TestDatabaseAwayWhileCallsWait stops PostgreSQL while one call waits for its
// approval and another, approved one is being executed.
func TestDatabaseAwayWhileCallsWait(t *testing.T) {
	d := newDatabase(t)
	p := startIn(t, []string{"HOLM_DATABASE_URL=" + d.server.URL()})
	key, seen := p.setUp("main")
	arrived := p.addSlow("main")
	session := p.connect(key, "60s")
	events := p.stream("main", key, "mcp:"+session.ID())

	waiting := later(t.Context(), session, map[string]any{"n": 1})
	p.nextEvent(events, "approval_requested")
	executing := laterNamed(t.Context(), session, slowTool, map[string]any{"ms": 2000})
	p.nextEvent(events, "approval_requested")
	p.holm("approvals", "approve", "2", "--single")
	arrived(1)

	d.stop()
	if status := p.status("/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d", status)
	}
	if status := p.status("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readyz: %d", status)
	}
	if out, code := p.try("approvals", "list"); code != 1 || !strings.Contains(out, "database") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// The outcome reaches its caller although it cannot be stored yet.
	if got := p.within(executing); got.Err != nil || got.Failed || got.Text != "done" {
		t.Errorf("the call that ran: %+v", got)
	}
	select {
	case got := <-waiting:
		t.Fatalf("the wait ended with the database: %+v", got)
	default:
	}

	d.start()
	p.eventually(func() error {
		if out, code := p.try("approvals", "approve", "1", "--single"); code != 0 {
			return errors.New(out)
		}
		return nil
	})
	if got := p.within(waiting); got.Err != nil || got.Failed {
		t.Errorf("the call that waited: %+v", got)
	}
	// Both are told again what they gave, and run no second time.
	again := p.connect(key, "30s")
	if got := callNamed(t.Context(), again, slowTool, map[string]any{"ms": 2000}); got.Text != "done" {
		t.Errorf("asked again for the call that ran: %+v", got)
	}
	if got := call(t.Context(), again, map[string]any{"n": 1}); got.Text != "recorded" {
		t.Errorf("asked again for the call that waited: %+v", got)
	}
	if diff := cmp.Diff([]string{`{"n":1}`}, seen()); diff != "" {
		t.Error(diff)
	}
	arrived(1)
	for _, id := range []string{"1", "2"} {
		if outcome := p.field("outcome", "approvals", "show", id); outcome != "succeeded" {
			t.Errorf("request %s: outcome %s", id, outcome)
		}
	}
}

func (p *process) status(path string) int {
	p.t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
