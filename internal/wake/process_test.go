package wake_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
	"holm/internal/wake"
)

func alive(t *testing.T, pool *pgxpool.Pool, process int64) (ok bool) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) (err error) {
		ok, err = wake.Alive(t.Context(), tx, process)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAProcessIsAliveFromItsFirstListenToItsEnd(t *testing.T) {
	pool := dbtest.DB(t)
	if idle := newHub(pool); alive(t, pool, idle.Process()) {
		t.Error("a hub that never ran counts as alive")
	}
	hub, end := running(t, pool)
	other, _ := running(t, pool)
	if hub.Process() == other.Process() {
		t.Fatal("two processes with one id")
	}
	if !alive(t, pool, hub.Process()) {
		t.Error("a running process counts as dead")
	}
	end()
	// The server notices the end of a connection in its own time.
	for deadline := time.Now().Add(patience); alive(t, pool, hub.Process()); {
		if time.Now().After(deadline) {
			t.Fatal("an ended process counts as alive")
		}
	}
	if !alive(t, pool, other.Process()) {
		t.Error("the end of one process ended another")
	}
}

// cutListener ends the listening connection of a process on the server.
func cutListener(t *testing.T, pool *pgxpool.Pool, process int64) {
	t.Helper()
	tag, err := pool.Exec(t.Context(), `
		SELECT pg_terminate_backend(pid)
		FROM pg_locks
		WHERE locktype = 'advisory'
		  AND objid = $1::oid
		  AND objsubid = 2
		  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, uint32(process))
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("ended %d connections, error %v", tag.RowsAffected(), err)
	}
}

func TestALostConnectionIsMadeAnew(t *testing.T) {
	pool := dbtest.DB(t)
	here, _ := running(t, pool)
	there, _ := running(t, pool)
	w := there.Wait("a")
	defer w.Close()

	cutListener(t, pool, there.Process())
	rings(t, w, "the new connection: a notice may have been lost with the old one")

	if !alive(t, pool, there.Process()) {
		t.Error("the lock on the process id was not taken again")
	}
	here.Publish("a")
	rings(t, w, "a notice on the new connection")
}
