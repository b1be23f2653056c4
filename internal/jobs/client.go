// Package jobs sets up River, which runs everything that follows from a
// committed change: deliveries, edits, expiry, repair. What a job does belongs
// to the package that queues it.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"holm/internal/db"
	"holm/internal/wake"
)

// Config is what New needs. Without Queues the client only inserts.
type Config struct {
	Pool    *pgxpool.Pool
	Hub     *wake.Hub
	Log     *slog.Logger
	Workers *river.Workers
	// Queues are the queues this process works, besides River's default one.
	Queues   []string
	Periodic []*river.PeriodicJob
}

const (
	// workersPerQueue bounds the jobs of a queue at one time; they mostly wait
	// for a platform.
	workersPerQueue = 50
	// jobTimeout bounds one attempt: no job waits for a person.
	jobTimeout = 30 * time.Second
	// fetchCooldown bounds how long a new job waits for a busy fetcher; people
	// wait for these jobs.
	fetchCooldown = 10 * time.Millisecond
	// rescueEvery is how soon jobs of a process that died run again.
	rescueEvery = 5 * time.Second
)

// New makes a River client on the schema that db.Migrate fills.
func New(c Config) (*river.Client[pgx.Tx], error) {
	config := &river.Config{
		ID:                   clientID(c.Hub.Process()),
		Schema:               db.RiverSchema,
		Logger:               slog.New(warnings{c.Log.Handler()}),
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    500 * time.Millisecond,
		JobTimeout:           jobTimeout,
		RescueStuckJobsAfter: 2 * time.Minute,
		RetryPolicy:          soon{},
	}
	if c.Workers != nil {
		river.AddWorker(c.Workers, &rescueWorker{pool: c.Pool, self: c.Hub.Process()})
		config.Workers = c.Workers
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workersPerQueue}}
		for _, queue := range c.Queues {
			config.Queues[queue] = river.QueueConfig{MaxWorkers: workersPerQueue}
		}
		config.PeriodicJobs = append(c.Periodic, Every(rescueEvery, rescueArgs{}))
	}
	client, err := river.NewClient(riverpgxv5.New(c.Pool), config)
	if err != nil {
		return nil, fmt.Errorf("set up jobs: %w", err)
	}
	return client, nil
}

// Every is a periodic job that also runs when a process takes over.
func Every(interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) { return args, &river.InsertOpts{MaxAttempts: 1} },
		&river.PeriodicJobOpts{RunOnStart: true})
}

// warnings keeps River's running commentary out of the log.
type warnings struct{ slog.Handler }

// Enabled lets warnings and errors pass.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// soon retries after 1 s, doubling to a minute: people wait for the outcome.
type soon struct{}

// NextRetry gives the time of the next attempt.
func (soon) NextRetry(job *rivertype.JobRow) time.Time {
	delay := time.Second << min(len(job.Errors), 6)
	return time.Now().Add(min(delay, time.Minute))
}

func clientID(process int64) string { return fmt.Sprintf("holm-%d", int32(process)) }

// rescueArgs frees the jobs of processes that died: River by itself waits
// until a job could no longer be running, which is minutes.
type rescueArgs struct{}

// Kind names the job in River's table.
func (rescueArgs) Kind() string { return "jobs_rescue" }

type rescueWorker struct {
	river.WorkerDefaults[rescueArgs]
	pool *pgxpool.Pool
	self int64
}

// Work makes jobs available again that were running in a process whose
// connection, and the lock on its id, are gone. It touches River's table
// because River has no call for it; the columns are those its own rescuer sets.
func (w *rescueWorker) Work(ctx context.Context, _ *river.Job[rescueArgs]) error {
	return db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT DISTINCT attempted_by[cardinality(attempted_by)]
			FROM river.river_job
			WHERE state = 'running'
			  AND attempted_at < clock_timestamp() - interval '3 seconds'`)
		if err != nil {
			return fmt.Errorf("find running jobs: %w", err)
		}
		clients, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("find running jobs: %w", err)
		}
		for _, client := range clients {
			if err := w.free(ctx, tx, client); err != nil {
				return fmt.Errorf("free jobs of %s: %w", client, err)
			}
		}
		return nil
	})
}

func (w *rescueWorker) free(ctx context.Context, tx pgx.Tx, client string) error {
	var process int32
	if _, err := fmt.Sscanf(client, "holm-%d", &process); err != nil || int64(process) == w.self {
		return nil // not one of ours, or this very process
	}
	if alive, err := wake.Alive(ctx, tx, int64(process)); err != nil || alive {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE river.river_job
		SET state = 'available',
		    scheduled_at = clock_timestamp(),
		    max_attempts = GREATEST(max_attempts, attempt + 1)
		WHERE state = 'running'
		  AND attempted_by[cardinality(attempted_by)] = $1`, client)
	return err
}
