package webhook_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/jobs"
	"holm/internal/secret"
	"holm/internal/session"
	"holm/internal/wake"
	"holm/internal/webhook"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is far beyond what anything here takes.
const patience = 40 * time.Second

// world has the agents main and other with one session each, of their own names.
type world struct {
	t      *testing.T
	pool   *pgxpool.Pool
	hub    *wake.Hub
	keeper *secret.Keeper
	jobs   *jobs.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, pool: dbtest.DB(t)}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	w.hub = wake.New(w.pool, log)
	for _, agent := range []string{"main", "other"} {
		w.exec(`INSERT INTO agents (id) VALUES ($1)`, agent)
		s := session.Session{ID: agent, AgentID: agent, Kind: session.API, RequesterID: "agent:" + agent}
		if err := session.Ensure(t.Context(), w.pool, s); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.keeper, err = secret.New("the-secret-key-of-tests"); err != nil {
		t.Fatal(err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, webhook.NewDeliverWorker(w.pool, w.keeper))
	w.jobs, err = jobs.New(jobs.Config{Pool: w.pool, Hub: w.hub, Log: log, Workers: workers, Queues: []string{webhook.Queue}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

// follow runs what makes deliveries of events, as one process does.
func (w *world) follow() {
	ctx, stop := context.WithCancel(context.Background())
	fanout := &webhook.Fanout{Pool: w.pool, Hub: w.hub, Jobs: w.jobs, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var running sync.WaitGroup
	running.Go(func() { _ = fanout.Run(ctx) })
	w.t.Cleanup(func() { stop(); running.Wait() })
}

// work runs the jobs.
func (w *world) work() {
	if err := w.jobs.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.jobs.Stop(context.Background()) })
}

// add registers an address for an agent; it gives the webhook and its secret.
func (w *world) add(agent, address string, events ...string) (hook webhook.Webhook, secret string) {
	w.t.Helper()
	err := db.InTx(context.Background(), w.pool, func(tx pgx.Tx) (err error) {
		hook, secret, err = webhook.Create(context.Background(), tx, w.keeper, agent, address, events, "test")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.hub.Publish(webhook.ChangedKey)
	return hook, secret
}

// append commits one event of an agent.
func (w *world) append(agent, eventType string, payload any) (id int64) {
	w.t.Helper()
	err := db.InTx(context.Background(), w.pool, func(tx pgx.Tx) (err error) {
		id, err = session.Append(context.Background(), tx, agent, agent, eventType, payload)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.hub.Publish(session.Keys(agent, agent)...)
	return id
}

func (w *world) hook(agent string) webhook.Webhook {
	w.t.Helper()
	hooks, err := webhook.List(context.Background(), w.pool, agent)
	if err != nil || len(hooks) != 1 {
		w.t.Fatalf("%v (%v), want one webhook", hooks, err)
	}
	return hooks[0]
}

// delivery is what an address got.
type delivery struct {
	header http.Header
	body   []byte
}

// address takes deliveries and answers each with the next of its statuses, the
// last of which stays.
type address struct {
	*httptest.Server
	got chan delivery
}

func newAddress(t *testing.T, statuses ...int) *address {
	t.Helper()
	a := &address{got: make(chan delivery, 1000)}
	next := make(chan int, len(statuses))
	for _, status := range statuses {
		next <- status
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := http.StatusOK
		select {
		case status = <-next:
		default:
		}
		rw.WriteHeader(status)
		a.got <- delivery{header: r.Header, body: body}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *address) next(t *testing.T) delivery {
	t.Helper()
	select {
	case d := <-a.got:
		return d
	case <-time.After(patience):
		t.Fatal("nothing was delivered")
		return delivery{}
	}
}

// verified fails unless the delivery was signed with secret.
func (d delivery) verified(t *testing.T, secret string) delivery {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(d.body, d.header); err != nil {
		t.Errorf("a receiver refuses the delivery: %v", err)
	}
	return d
}
