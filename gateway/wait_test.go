package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/approvals"
	"holm/internal/db/dbtest"
	"holm/policy"
)

// held makes a call of the record tool and returns once it waits: the headers
// come with the first sign of life. The channel gets the end of the stream.
func (r *rig) held(session string, args string) <-chan string {
	r.t.Helper()
	done, err := r.hold(session, args)
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

func (r *rig) hold(session string, args string) (<-chan string, error) {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url, strings.NewReader(
		`{"jsonrpc":"2.0","id":"`+args+`","method":"tools/call","params":{"name":"mcp__fix__record","arguments":`+strings.ReplaceAll(args, "'", `"`)+`}}`))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + r.key, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session, "Holm-Hold": "10m"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	done := make(chan string, 1)
	go func() {
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			b = append(b, err.Error()...)
		}
		done <- string(b)
	}()
	return done, nil
}

// TestAThousandCallsAreHeld: all wait at once, and all run once when somebody
// answers them in bulk.
func TestAThousandCallsAreHeld(t *testing.T) {
	calls := 1000
	if testing.Short() || raceEnabled {
		calls = 100
	}
	r := newRigFor(t, dbtest.DB(t), calls)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(nil).ID()
	waiting := make([]<-chan string, calls)
	r.each(calls, func(n int) (err error) {
		waiting[n], err = r.hold(session, fmt.Sprintf(`{'n':%d}`, n))
		return err
	})
	rows, err := r.pool.Query(t.Context(), `SELECT id FROM approval_requests WHERE status = 'pending'`)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) != calls {
		t.Fatalf("%d questions are open, error %v", len(ids), err)
	}
	r.each(calls, func(n int) error {
		_, err := r.approvals.Decide(context.Background(), approvals.Decision{
			AgentID: agentName, RequestID: ids[n], Approve: true, Resolution: policy.Single,
			Actor: approvals.Actor{Admin: true, Name: "operator", Via: "test"},
		})
		return err
	})
	for n, done := range waiting {
		if got := <-done; !strings.Contains(got, `"text":"recorded"`) {
			t.Errorf("call %d got %s", n, got)
		}
	}
	ran := map[string]int{}
	for _, line := range r.ran() {
		ran[line]++
	}
	for n := range calls {
		if times := ran[fmt.Sprintf(`{"n":%d}`, n)]; times != 1 {
			t.Errorf("call %d ran %d times", n, times)
		}
	}
}

// each does something n times, some of it at one time.
func (r *rig) each(n int, do func(int) error) {
	r.t.Helper()
	var failed atomic.Pointer[error]
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		r.t.Fatal(*err)
	}
}

// TestAllWhoWaitShareOneExecution: a client that gave up and asked again waits
// twice for one call, whatever the approval opens besides.
func TestAllWhoWaitShareOneExecution(t *testing.T) {
	for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
		t.Run(string(resolution), func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{})
			var waiting []<-chan string
			for range 5 {
				waiting = append(waiting, r.held(r.client(nil).ID(), `{'n':1}`))
			}
			r.decide(r.asked(approvals.Pending), true, resolution, "")
			for _, done := range waiting {
				if got := <-done; !strings.Contains(got, `"text":"recorded"`) {
					t.Errorf("got %s", got)
				}
			}
			if ran := r.ran(); len(ran) != 1 {
				t.Errorf("ran %d times, want once", len(ran))
			}
		})
	}
}

// TestWaitOutlivesLostConnections: a database that was away for a moment ends
// no wait.
func TestWaitOutlivesLostConnections(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	done := r.held(r.client(nil).ID(), `{'n':1}`)
	for range 3 {
		_, err := r.pool.Exec(t.Context(), `
			SELECT pg_terminate_backend(pid)
			FROM pg_stat_activity
			WHERE datname = current_database()
			  AND pid <> pg_backend_pid()`)
		if err != nil {
			t.Fatal(err)
		}
	}
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	if got := <-done; !strings.Contains(got, `"text":"recorded"`) {
		t.Errorf("got %s", got)
	}
}

// TestClaimOfWhichNobodyHeard: the connection breaks after the database has
// committed a claim and before it says so. Nothing was sent, so the approval
// still stands for a retry.
func TestClaimOfWhichNobodyHeard(t *testing.T) {
	var cut cutter
	r := newRigOn(t, cut.pool(t))
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	args := map[string]any{"n": 1}
	call(t.Context(), session, "record", args)
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")

	cut.armed.Store(true)
	got := call(t.Context(), session, "record", args)
	if cut.armed.Load() {
		t.Fatal("the claim was not cut off")
	}
	if got.Err == nil || !strings.Contains(got.Err.Error(), "this attempt executed nothing") {
		t.Errorf("got %+v, want to hear that the database is away", got)
	}
	if ran := r.ran(); ran != nil {
		t.Fatalf("ran %v before the retry", ran)
	}
	patient := r.client(map[string]string{"Holm-Hold": "20s"})
	for range 2 {
		if got := call(t.Context(), patient, "record", args); got.Err != nil || got.IsError {
			t.Errorf("the retry: %+v", got)
		}
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %d times, want once", len(ran))
	}
}

// cutter makes connections that, once armed, break in answer to the commit of
// the next claim, and that lose what is sent while silent.
type cutter struct {
	armed, silent atomic.Bool
	lost          sync.Map
}

// speak ends the silence: the connections that lost something break.
func (c *cutter) speak() {
	c.silent.Store(false)
	c.lost.Range(func(conn, _ any) bool { _ = conn.(net.Conn).Close(); return true })
}

func (c *cutter) pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	config := dbtest.DB(t).Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &cutConn{Conn: conn, cutter: c}, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

type cutConn struct {
	net.Conn
	cutter *cutter
	// claiming and committing follow the statements; pgx writes one at a time.
	claiming, committing atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.cutter.armed.Load() && bytes.Contains(b, []byte("claimed_by = $2")) {
		c.claiming.Store(true)
	}
	if c.claiming.Load() && bytes.Contains(b, []byte("commit")) {
		c.committing.Store(true)
	}
	if c.cutter.silent.Load() {
		c.cutter.lost.Store(c.Conn, true)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.committing.Load() {
		c.cutter.armed.Store(false)
		return 0, errors.Join(io.ErrUnexpectedEOF, c.Conn.Close())
	}
	return n, err
}

// TestDatabaseThatHangs: a caller is told in time, and its key is not blamed.
func TestDatabaseThatHangs(t *testing.T) {
	var cut cutter
	r := newRigOn(t, cut.pool(t))
	r.rule("echo", policy.Allow, policy.Scope{})
	session := r.client(nil)
	cut.silent.Store(true)
	r.keyring.Forget()
	status, text := r.post(map[string]string{"Mcp-Session-Id": session.ID(), "MCP-Protocol-Version": "2025-11-25"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__fix__echo"}}`)
	cut.speak()
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "database is not available") {
		t.Errorf("status %d: %s", status, text)
	}
	if got := call(t.Context(), session, "echo", map[string]any{}); got.Err != nil || got.IsError {
		t.Errorf("afterwards: %+v", got)
	}
}
