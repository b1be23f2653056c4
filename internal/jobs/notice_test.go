package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/jobs"
)

// A job that is told of within its transaction can be forgotten: another that was
// inserted a moment before has told already, and its notice comes while this one
// is not yet committed.
func TestEachCommitTellsOfItsJobs(t *testing.T) {
	pool := dbtest.DB(t)
	hub, _ := living(t, pool)
	client, err := jobs.New(jobs.Config{Pool: pool, Hub: hub, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Release()
	if _, err := listener.Exec(t.Context(), `LISTEN "river.river_insert"`); err != nil {
		t.Fatal(err)
	}
	insert := func(tx pgx.Tx, queue string) {
		t.Helper()
		_, err := client.InsertManyTx(t.Context(), tx, []river.InsertManyParams{{Args: task{queue}, InsertOpts: &river.InsertOpts{Queue: queue}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	told := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		n, err := listener.Conn().WaitForNotification(ctx)
		if err != nil || n.Payload != `{"queue": "`+want+`"}` {
			t.Fatalf("told %+v (%v), want of queue %s", n, err, want)
		}
	}
	inTx := func(do func(pgx.Tx) error) error { return db.InTx(t.Context(), pool, do) }

	if err := inTx(func(first pgx.Tx) error {
		insert(first, "cards")
		err := inTx(func(second pgx.Tx) error { insert(second, "cards"); return nil })
		told("cards")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	told("cards")

	undone := errors.New("undone")
	if err := inTx(func(tx pgx.Tx) error { insert(tx, "cards"); return undone }); !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if err := inTx(func(tx pgx.Tx) error { insert(tx, "calls"); return nil }); err != nil {
		t.Fatal(err)
	}
	told("calls")
}
