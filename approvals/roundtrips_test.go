package approvals_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/approvals"
	"holm/internal/jobs"
	"holm/policy"
	"holm/policy/rulestore"
)

// trips counts what a pool sends and then waits for: statements by themselves,
// BEGIN and COMMIT among them, and batches.
type trips struct {
	mu   sync.Mutex
	sent [][]string // the statements of each round trip
}

func (t *trips) add(statements ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, statements)
}

func (t *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.add(data.SQL)
	return ctx
}

func (*trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var statements []string
	for _, q := range data.Batch.QueuedQueries {
		statements = append(statements, q.SQL)
	}
	t.add(statements...)
	return ctx
}

func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// of gives what do sends.
func (t *trips) of(do func()) [][]string {
	t.mu.Lock()
	t.sent = nil
	t.mu.Unlock()
	do()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}

// traced makes the world's service count its round trips. Nothing else uses its
// connections.
func (w *world) traced() *trips {
	w.t.Helper()
	counted := &trips{}
	config := w.pool.Config()
	config.ConnConfig.Tracer = counted
	pool, err := pgxpool.NewWithConfig(ctx, config)
	w.ok(err)
	w.t.Cleanup(pool.Close)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	queue, err := jobs.New(jobs.Config{Pool: pool, Hub: w.hub, Log: log})
	w.ok(err)
	w.svc = approvals.New(approvals.Config{Pool: pool, Hub: w.hub, Rules: rulestore.New(w.pool, w.hub, log), Jobs: queue, Log: log})
	return counted
}

// What people and agents wait for is mostly the way to the database and back.
func TestAskingAndDecidingTakeFewRoundTrips(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"otto", "oda", "oleg"} {
		w.person(name, "main", policy.Owner)
	}
	counted := w.traced()
	w.ask(w.call(`{"n":0}`)) // makes the session, and each connection learn its statements

	var r approvals.Request
	for _, step := range []struct {
		what              string
		trips, statements int // at most
		do                func()
	}{
		// begin, look, store, announce, jobs, commit
		{"a question to four owners", 6, 13, func() { r = w.ask(w.call(`{"n":1}`)) }},
		{"the same again", 3, 7, func() { w.ask(w.call(`{"n":1}`)) }},
		// begin, lock, move, write what follows, jobs, commit
		{"a decision", 6, 10, func() { r = w.approve(r, policy.Once) }},
		{"a claim", 5, 6, func() { w.claims(r) }},
	} {
		sent := counted.of(step.do)
		if n := len(slices.Concat(sent...)); len(sent) > step.trips || n > step.statements {
			t.Errorf("%s: %d round trips with %d statements, want at most %d and %d:\n%q", step.what, len(sent), n, step.trips, step.statements, sent)
		}
	}
	if n := w.count(`SELECT count(*) FROM card_deliveries WHERE request_id = $1`, r.ID); n != 4 {
		t.Errorf("%d cards, want 4", n)
	}
}
