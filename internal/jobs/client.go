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

	"holm/internal/caught"
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
	fetchCooldown = 2 * time.Millisecond
)

// Client is River's. Jobs that it inserts within a transaction of db.InTx are
// picked up at once.
type Client struct {
	*river.Client[pgx.Tx]
	hub *wake.Hub
}

// New makes a Client on the schema that db.Migrate fills.
func New(c Config) (*Client, error) {
	config := &river.Config{
		ID:                   clientID(c.Hub.Process()),
		Schema:               db.RiverSchema,
		Logger:               slog.New(warnings{c.Log.Handler()}),
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    500 * time.Millisecond,
		JobTimeout:           jobTimeout,
		RescueStuckJobsAfter: 2 * time.Minute,
		RetryPolicy:          soon{},
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(
			func(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) (err error) {
				defer caught.Err(c.Log, "job "+job.Kind, &err)
				return work(ctx)
			})},
	}
	if c.Workers != nil {
		config.Workers = c.Workers
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workersPerQueue}}
		for _, queue := range c.Queues {
			config.Queues[queue] = river.QueueConfig{MaxWorkers: workersPerQueue}
		}
		config.PeriodicJobs = c.Periodic
	}
	client, err := river.NewClient(driver{riverpgxv5.New(c.Pool)}, config)
	if err != nil {
		return nil, fmt.Errorf("set up jobs: %w", err)
	}
	return &Client{client, c.Hub}, nil
}

// driver keeps River from telling of a new job within the transaction that inserts
// it. It would leave that out when it has told of another within the cooldown, by
// the time of the statements: where the other transaction is the first to commit, its
// notice comes too early for this job, which then waits for the poll. And commits
// that notify wait for each other.
type driver struct{ *riverpgxv5.Driver }

// SupportsListenNotify is about sending alone; River listens all the same.
func (driver) SupportsListenNotify() bool { return false }

// insertTopic is where River listens for the names of queues that have new jobs.
const insertTopic = db.RiverSchema + ".river_insert"

// InsertManyTx inserts jobs with the caller's transaction, and tells all processes of
// those that are due after the commit. Where that is lost they wait for the poll.
func (c *Client) InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error) {
	inserted, err := c.Client.InsertManyTx(ctx, tx, params)
	if err != nil {
		return nil, err
	}
	for _, one := range inserted {
		if queue := one.Job.Queue; one.Job.State == rivertype.JobStateAvailable {
			db.AfterCommit(tx, func() { c.hub.Tell(insertTopic, fmt.Sprintf(`{"queue": %q}`, queue)) })
		}
	}
	return inserted, nil
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
