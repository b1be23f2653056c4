package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"holm/internal/db/dbtest"
	"holm/internal/jobs"
	"holm/internal/wake"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is far beyond what anything here takes.
const patience = 40 * time.Second

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// task is the job of these tests; what it does is its worker's.
type task struct {
	Name string `json:"name"`
}

func (task) Kind() string { return "task" }

type worker struct {
	river.WorkerDefaults[task]
	do func(string) error
}

func (w *worker) Work(_ context.Context, job *river.Job[task]) error { return w.do(job.Args.Name) }

// living runs a hub until end is called.
func living(t *testing.T, pool *pgxpool.Pool) (hub *wake.Hub, end func()) {
	t.Helper()
	hub = wake.New(pool, quiet)
	ready := hub.Wait("ready")
	defer ready.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	ended := false
	end = func() {
		if !ended {
			ended = true
			cancel()
			<-done
		}
	}
	t.Cleanup(end)
	select {
	case <-ready.C:
	case <-time.After(patience):
		t.Fatal("the hub does not listen")
	}
	return hub, end
}

// process works tasks, on the default queue and on "cards", until the test ends.
func process(t *testing.T, pool *pgxpool.Pool, do func(string) error, periodic ...*river.PeriodicJob) *jobs.Client {
	t.Helper()
	hub, _ := living(t, pool)
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{do: do})
	client, err := jobs.New(jobs.Config{Pool: pool, Hub: hub, Log: quiet, Workers: workers, Queues: []string{"cards"}, Periodic: periodic})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var rescue sync.WaitGroup
	rescue.Go(func() { _ = (&jobs.Rescuer{Pool: pool, Hub: hub, Log: quiet}).Run(ctx) })
	t.Cleanup(func() {
		cancel()
		rescue.Wait()
		if err := client.StopAndCancel(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return client
}

func receive(t *testing.T, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Errorf("%q ran, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("%q did not run", want)
	}
}

func TestJobsRunOnEachQueue(t *testing.T) {
	pool := dbtest.DB(t)
	ran := make(chan string, 10)
	client := process(t, pool, func(name string) error { ran <- name; return nil })
	for _, queue := range []string{river.QueueDefault, "cards"} {
		if _, err := client.Insert(t.Context(), task{queue}, &river.InsertOpts{Queue: queue}); err != nil {
			t.Fatal(err)
		}
		receive(t, ran, queue)
	}
}

func TestAClientWithoutWorkersOnlyInserts(t *testing.T) {
	pool := dbtest.DB(t)
	client, err := jobs.New(jobs.Config{Pool: pool, Hub: wake.New(pool, quiet), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Insert(t.Context(), task{"later"}, nil); err != nil {
		t.Fatal(err)
	}
	ran := make(chan string, 10)
	process(t, pool, func(name string) error { ran <- name; return nil })
	receive(t, ran, "later")
}

func TestAPeriodicJobRunsAtTheStart(t *testing.T) {
	ran := make(chan string, 10)
	process(t, dbtest.DB(t), func(name string) error { ran <- name; return nil }, jobs.Every(time.Hour, task{"hourly"}))
	receive(t, ran, "hourly")
}

func TestFailuresAreTriedAgainLaterAndLater(t *testing.T) {
	pool := dbtest.DB(t)
	seconds := map[int]float64{0: 1, 1: 2, 3: 8, 5: 32, 6: 60, 20: 60} // by failures before
	for failures := range seconds {
		if _, err := pool.Exec(t.Context(), `
			INSERT INTO river.river_job (kind, args, attempt, errors, max_attempts, priority, queue, state)
			SELECT 'task', jsonb_build_object('name', $1::int::text), $1, array_agg(e) FILTER (WHERE e IS NOT NULL), 100, 1, 'default', 'available'
			FROM (SELECT 1) one
			LEFT JOIN (
			    SELECT jsonb_build_object('at', now(), 'attempt', n, 'error', 'x', 'trace', '') AS e
			    FROM generate_series(1, $1::int) n
			) each ON true`, failures); err != nil {
			t.Fatal(err)
		}
	}
	var once sync.Map // each job fails once more, so that its next time stays as it is
	failed := make(chan string, len(seconds))
	process(t, pool, func(name string) error {
		if _, again := once.LoadOrStore(name, true); again {
			return nil
		}
		failed <- name
		return errors.New("the platform is away")
	})
	for range seconds {
		select {
		case <-failed:
		case <-time.After(patience):
			t.Fatal("not all jobs were tried")
		}
	}
	for failures, want := range seconds {
		if delay := delayAfter(t, pool, failures); delay < want-0.5 || delay > want+0.5 {
			t.Errorf("after %d failures it waits %.2f s, want %.0f", failures, delay, want)
		}
	}
}

// delayAfter waits until a job's failure is stored, and gives how long after it
// the next attempt is.
func delayAfter(t *testing.T, pool *pgxpool.Pool, failures int) (seconds float64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := pool.QueryRow(t.Context(), `
			SELECT extract(epoch FROM scheduled_at - (errors[$1::int + 1] ->> 'at')::timestamptz)
			FROM river.river_job
			WHERE args ->> 'name' = $1::int::text
			  AND errors[$1::int + 1] IS NOT NULL`, failures).Scan(&seconds)
		if err == nil {
			return seconds
		}
		if !errors.Is(err, pgx.ErrNoRows) || time.Now().After(deadline) {
			t.Fatalf("after %d failures: %v", failures, err)
		}
	}
}

// TestPanicInAJob is tried again like a failure, and its stack is in the log.
func TestPanicInAJob(t *testing.T) {
	pool := dbtest.DB(t)
	hub, _ := living(t, pool)
	var logged bytes.Buffer
	tries, done := 0, make(chan struct{})
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{do: func(string) error {
		if tries++; tries == 1 {
			panic("a fuse")
		}
		close(done)
		return nil
	}})
	client, err := jobs.New(jobs.Config{Pool: pool, Hub: hub, Log: slog.New(slog.NewTextHandler(&logged, nil)), Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Insert(t.Context(), task{}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("the job was not tried again")
	}
	if err := client.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if text := logged.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "a fuse") || !strings.Contains(text, "client_test.go") {
		t.Errorf("logged %s", text)
	}
}
