package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
	"holm/internal/jobs"
)

// runningIn stores a job that a process took five seconds ago and still has.
func runningIn(t *testing.T, pool *pgxpool.Pool, client, name string, maxAttempts int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		INSERT INTO river.river_job (kind, args, attempt, attempted_at, attempted_by, max_attempts, priority, queue, state)
		VALUES ('task', jsonb_build_object('name', $1::text), 1, now() - interval '5 seconds', ARRAY['holm-1', $2], $3, 1, 'default', 'running')`,
		name, client, maxAttempts)
	if err != nil {
		t.Fatal(err)
	}
}

func TestJobsOfADeadProcessRunAgainWithinSeconds(t *testing.T) {
	pool := dbtest.DB(t)
	alive, _ := living(t, pool)
	dying, end := living(t, pool)
	runningIn(t, pool, fmt.Sprint("holm-", alive.Process()), "of the living", 25)
	runningIn(t, pool, fmt.Sprint("holm-", dying.Process()), "of the dead", 25)
	// It had its last attempt, which its process took with it.
	runningIn(t, pool, fmt.Sprint("holm-", dying.Process()), "last of the dead", 1)
	runningIn(t, pool, "a client of another kind", "of a stranger", 25)

	end()
	ran := make(chan string, 10)
	process(t, pool, func(name string) error { ran <- name; return nil })
	got := map[string]bool{}
	for range 2 {
		select {
		case name := <-ran:
			got[name] = true
		case <-time.After(patience):
			t.Fatalf("only %v ran again", got)
		}
	}
	if !got["of the dead"] || !got["last of the dead"] {
		t.Errorf("%v ran again", got)
	}
	var running int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job WHERE kind = 'task' AND state = 'running'
		AND args ->> 'name' IN ('of the living', 'of a stranger')`).Scan(&running); err != nil || running != 2 {
		t.Errorf("%d of 2 jobs of others are left alone, error %v", running, err)
	}
}

// Only the leader starts what is due later, so one that died must not keep its
// office until its term ends.
func TestADeadLeaderIsReplaced(t *testing.T) {
	pool := dbtest.DB(t)
	dying, end := living(t, pool)
	_, err := pool.Exec(t.Context(), `
		INSERT INTO river.river_leader (elected_at, expires_at, leader_id, name)
		VALUES (now(), now() + interval '1 hour', $1, 'default')`, fmt.Sprint("holm-", dying.Process()))
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan string, 10)
	process(t, pool, func(name string) error { ran <- name; return nil }, jobs.Every(time.Hour, task{Name: "periodic"}))
	end()
	receive(t, ran, "periodic")
}

func TestALivingLeaderStays(t *testing.T) {
	pool := dbtest.DB(t)
	leader, _ := living(t, pool)
	other, end := living(t, pool)
	id := fmt.Sprint("holm-", leader.Process())
	_, err := pool.Exec(t.Context(), `
		INSERT INTO river.river_leader (elected_at, expires_at, leader_id, name)
		VALUES (now(), now() + interval '1 hour', $1, 'default')`, id)
	if err != nil {
		t.Fatal(err)
	}
	runningIn(t, pool, fmt.Sprint("holm-", other.Process()), "of the dead", 25)
	end()
	ran := make(chan string, 10)
	process(t, pool, func(name string) error { ran <- name; return nil })
	receive(t, ran, "of the dead") // so it has looked
	var now string
	if err := pool.QueryRow(t.Context(), `SELECT leader_id FROM river.river_leader`).Scan(&now); err != nil || now != id {
		t.Errorf("the leader is %s, error %v", now, err)
	}
}
