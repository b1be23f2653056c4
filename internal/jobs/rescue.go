package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"holm/internal/db"
	"holm/internal/wake"
)

// rescueEvery is how often a process looks for what others left behind.
const rescueEvery = time.Second

// Rescuer frees what processes that died had of River: the jobs that were
// running in them, and the office of the leader, who alone starts what is due
// later. River by itself waits for minutes for the ones and for a quarter of one
// for the other. Every process that works jobs runs one.
type Rescuer struct {
	Pool *pgxpool.Pool
	Hub  *wake.Hub
	Log  *slog.Logger

	deaths wake.Deaths
}

// Run looks until ctx ends.
func (r *Rescuer) Run(ctx context.Context) error {
	for {
		if err := r.look(ctx); err != nil && ctx.Err() == nil && !db.IsUnavailable(err) {
			r.Log.Warn("jobs of other processes could not be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rescueEvery):
		}
	}
}

// office is what a client of River has: a job, or the leadership since a time.
type office struct {
	Client  string
	Elected *time.Time
}

func (r *Rescuer) look(ctx context.Context) error {
	rows, err := r.Pool.Query(ctx, `
		SELECT DISTINCT attempted_by[cardinality(attempted_by)], NULL::timestamptz
		FROM river.river_job
		WHERE state = 'running'
		UNION ALL
		SELECT leader_id, elected_at
		FROM river.river_leader`)
	if err != nil {
		return fmt.Errorf("find clients: %w", err)
	}
	offices, err := pgx.CollectRows(rows, pgx.RowToStructByPos[office])
	if err != nil {
		return fmt.Errorf("find clients: %w", err)
	}
	for _, o := range offices {
		dead, err := r.dead(ctx, o.Client)
		switch {
		case err != nil || !dead:
		case o.Elected != nil:
			err = r.unseat(ctx, o)
		default:
			err = r.free(ctx, o.Client)
		}
		if err != nil {
			return fmt.Errorf("rescue from %s: %w", o.Client, err)
		}
	}
	return nil
}

func (r *Rescuer) dead(ctx context.Context, client string) (dead bool, err error) {
	var process int32
	if _, err := fmt.Sscanf(client, "holm-%d", &process); err != nil || int64(process) == r.Hub.Process() {
		return false, nil // not one of ours, or this very process
	}
	err = db.InTx(ctx, r.Pool, func(tx pgx.Tx) error {
		dead, err = r.deaths.Dead(ctx, tx, int64(process))
		return err
	})
	return dead, err
}

// free makes jobs available again. It touches River's table because River has
// no call for it; the columns are those its own rescuer sets.
func (r *Rescuer) free(ctx context.Context, client string) error {
	_, err := r.Pool.Exec(ctx, `
		UPDATE river.river_job
		SET state = 'available',
		    scheduled_at = clock_timestamp(),
		    max_attempts = GREATEST(max_attempts, attempt + 1)
		WHERE state = 'running'
		  AND attempted_by[cardinality(attempted_by)] = $1`, client)
	return err
}

// unseat ends a term as the leader itself would have; the others hear of it and
// elect a new one.
func (r *Rescuer) unseat(ctx context.Context, o office) error {
	_, err := riverpgxv5.New(r.Pool).GetExecutor().LeaderResign(ctx, &riverdriver.LeaderResignParams{
		LeaderID: o.Client, ElectedAt: *o.Elected, LeadershipTopic: "river_leadership", Schema: db.RiverSchema,
	})
	return err
}
