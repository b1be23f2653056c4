package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
	"holm/internal/session"
	"holm/internal/wake"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is far beyond what anything here takes.
const patience = 20 * time.Second

// world is an agent with sessions "s1" and "s2", and agent "other" with "o1".
type world struct {
	t    *testing.T
	pool *pgxpool.Pool
	hub  *wake.Hub
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, pool: dbtest.DB(t)}
	w.hub = wake.New(w.pool, slog.New(slog.NewTextHandler(io.Discard, nil)))
	w.exec(`INSERT INTO agents (id) VALUES ('main'), ('other')`)
	for id, agent := range map[string]string{"s1": "main", "s2": "main", "o1": "other"} {
		w.ensure(session.Session{ID: id, AgentID: agent, Kind: session.API, RequesterID: "agent:" + agent})
	}
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ensure(s session.Session) {
	w.t.Helper()
	if err := session.Ensure(context.Background(), w.pool, s); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) begin() pgx.Tx {
	w.t.Helper()
	tx, err := w.pool.Begin(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	// The pool closes only when nobody holds a connection.
	w.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// add appends in an open transaction.
func (w *world) add(tx pgx.Tx, sessionID string, payload any) int64 {
	w.t.Helper()
	id, err := session.Append(context.Background(), tx, "main", sessionID, "note", payload)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) commit(tx pgx.Tx) {
	w.t.Helper()
	if err := tx.Commit(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.hub.Publish(append(session.Keys("main", "s1"), session.Keys("main", "s2")...)...)
}

// put appends and commits one event of agent main.
func (w *world) put(sessionID string, payload any) int64 {
	w.t.Helper()
	tx := w.begin()
	id := w.add(tx, sessionID, payload)
	w.commit(tx)
	return id
}

// reader runs a stream and collects what it emits.
type reader struct {
	t     *testing.T
	mu    sync.Mutex
	got   []session.Event
	news  chan struct{}
	idled atomic.Int64
	end   func()
}

func (w *world) read(sessionID string, after int64) *reader {
	w.t.Helper()
	r := &reader{t: w.t, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	s := &session.Stream{
		Pool: w.pool, Hub: w.hub, AgentID: "main", SessionID: sessionID, After: after,
		IdleEvery: 20 * time.Millisecond,
		Idle:      func() error { r.idled.Add(1); r.ring(); return nil },
	}
	done := make(chan error, 1)
	go func() {
		done <- s.Run(ctx, func(e session.Event) error {
			r.mu.Lock()
			r.got = append(r.got, e)
			r.mu.Unlock()
			r.ring()
			return nil
		})
	}()
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			w.t.Errorf("Run: %v, want the context's error", err)
		}
	})
	w.t.Cleanup(r.end)
	return r
}

func (r *reader) ring() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *reader) events() []session.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]session.Event(nil), r.got...)
}

// until waits for a condition, looking whenever the stream did something.
func (r *reader) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-r.news:
		case <-deadline:
			r.t.Fatalf("%s did not happen; read %d events", what, len(r.events()))
		}
	}
}

// heartbeats waits until the stream has found nothing to emit n times more.
func (r *reader) heartbeats(n int64) {
	r.t.Helper()
	want := r.idled.Load() + n
	r.until("heartbeats", func() bool { return r.idled.Load() >= want })
}

// ids waits for n events and gives their ids.
func (r *reader) ids(n int) []int64 {
	r.t.Helper()
	r.until("the last event", func() bool { return len(r.events()) >= n })
	var ids []int64
	for _, e := range r.events() {
		ids = append(ids, e.ID)
	}
	return ids
}

func text(t *testing.T, raw json.RawMessage) (s string) {
	t.Helper()
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}
