package rulestore_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var ctx = context.Background()

// patience is far beyond what anything here takes.
const patience = 20 * time.Second

// world is a database with the agents main and other.
type world struct {
	t    *testing.T
	pool *pgxpool.Pool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, pool: dbtest.DB(t)}
	w.exec(`INSERT INTO agents (id) VALUES ('main'), ('other')`)
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(ctx, sql, args...)
	w.ok(err)
}

func (w *world) try(row policy.Row, store func(context.Context, pgx.Tx, policy.Row, string) (rulestore.Row, error)) (stored rulestore.Row, err error) {
	err = db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
		stored, err = store(ctx, tx, row, "admin")
		return err
	})
	return stored, err
}

func (w *world) put(row policy.Row) rulestore.Row {
	w.t.Helper()
	stored, err := w.try(row, rulestore.Put)
	w.ok(err)
	return stored
}

func (w *world) rows(agent string) []rulestore.Row {
	w.t.Helper()
	rows, err := rulestore.List(ctx, w.pool, agent, "")
	w.ok(err)
	return rows
}

func (w *world) version(agent string) (n int64) {
	w.t.Helper()
	w.ok(w.pool.QueryRow(ctx, `SELECT policy_version FROM agents WHERE id = $1`, agent).Scan(&n))
	return n
}

// rule is a row of agent main about one tool.
func rule(effect policy.Effect, key string, grants ...policy.Grant) policy.Row {
	return policy.Row{AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: key, Effect: effect, Grants: grants}
}

// process is a Store with its own Hub, as another process has them.
type process struct {
	*rulestore.Store
	hub *wake.Hub
	log *record
	end func()
}

// record is a log that may be read while it is written.
type record struct {
	mu sync.Mutex
	bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

func (r *record) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.String()
}

// start runs a store; a deaf one hears no notices.
func (w *world) start(deaf bool) *process {
	w.t.Helper()
	p := &process{log: &record{}}
	p.hub = wake.New(w.pool, slog.New(slog.NewTextHandler(io.Discard, nil)))
	p.Store = rulestore.New(w.pool, p.hub, slog.New(slog.NewTextHandler(p.log, nil)))
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	run := func(run func(context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				w.t.Errorf("Run: %v", err)
			}
		})
	}
	run(p.Run)
	if !deaf {
		ready := p.hub.Wait("ready")
		run(p.hub.Run)
		select {
		case <-ready.C:
		case <-time.After(patience):
			w.t.Fatal("the hub does not listen")
		}
		ready.Close()
	}
	p.end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	w.t.Cleanup(p.end)
	return p
}

// decides is what the store says now about a call of the bare key.
func (w *world) decides(s *rulestore.Store, tool string) policy.Effect {
	w.t.Helper()
	set, err := s.Get(ctx, "main")
	w.ok(err)
	return set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: tool}).Decision
}

// comes waits until the store decides so.
func (w *world) comes(s *rulestore.Store, tool string, want policy.Effect) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); w.decides(s, tool) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is still %s", tool, w.decides(s, tool))
		}
	}
}

// comesTo waits until something holds.
func (w *world) comesTo(holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatal("it does not come to that")
		}
	}
}
