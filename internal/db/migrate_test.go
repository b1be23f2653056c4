package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func column(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tables lists everything of Holm's and River's; goose keeps its empty version table.
const tables = `
	SELECT c.oid::regclass::text || ' ' || c.relkind::text
	FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname IN ('public', 'river')
	AND c.relname NOT LIKE 'goose_db_version%'
	ORDER BY 1`

func TestTwelveMigratorsAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	pools := make([]*pgxpool.Pool, 12)
	for n := range pools {
		pools[n] = open(t, url)
	}
	errs := make([]error, len(pools))
	var all sync.WaitGroup
	for n, pool := range pools {
		all.Go(func() { errs[n] = db.Migrate(t.Context(), pool) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}

	twice := column(t, pools[0], `
		SELECT 'holm ' || version_id FROM goose_db_version GROUP BY version_id HAVING count(*) > 1
		UNION ALL
		SELECT 'river ' || version FROM river.river_migration GROUP BY version HAVING count(*) > 1`)
	if len(twice) > 0 {
		t.Errorf("steps that ran twice: %v", twice)
	}
	if waiting, err := db.Pending(t.Context(), pools[0]); waiting || err != nil {
		t.Errorf("Pending = %v, %v after Migrate", waiting, err)
	}
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	pool := open(t, dbtest.EmptyURL(t))
	if waiting, err := db.Pending(t.Context(), pool); !waiting || err != nil {
		t.Fatalf("Pending on an empty database = %v, %v", waiting, err)
	}
	if made := column(t, pool, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`); len(made) > 0 {
		t.Errorf("Pending made %v", made)
	}

	migrate(t, pool)
	first := column(t, pool, tables)
	migrate(t, pool)
	if err := db.Down(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if left := column(t, pool, tables); len(left) > 0 {
		t.Errorf("Down left %v", left)
	}
	migrate(t, pool)
	if diff := cmp.Diff(first, column(t, pool, tables)); diff != "" || len(first) == 0 {
		t.Errorf("the second Up differs from the first (-first +second):\n%s", diff)
	}
}

func migrate(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if err := db.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
}

func TestStepThatFails(t *testing.T) {
	t.Parallel()
	pool := open(t, dbtest.EmptyURL(t))
	steps := fstest.MapFS{
		"00001_one.sql": {Data: []byte("-- +goose Up\nCREATE TABLE one (a int);\n-- +goose Down\nDROP TABLE one;\n")},
		"00002_two.sql": {Data: []byte("-- +goose Up\nCREATE TABLE two (a int);\nSELECT 1/0;\n-- +goose Down\nDROP TABLE two;\n")},
	}
	if err := db.MigrateSteps(t.Context(), pool, steps); err == nil {
		t.Fatal("a step that fails was reported as done")
	}
	const names = `SELECT tablename::text FROM pg_tables WHERE tablename IN ('one', 'two') ORDER BY 1`
	if diff := cmp.Diff([]string{"one"}, column(t, pool, names)); diff != "" {
		t.Errorf("tables after the failure (-want +got):\n%s", diff)
	}

	steps["00002_two.sql"].Data = []byte("-- +goose Up\nCREATE TABLE two (a int);\n-- +goose Down\nDROP TABLE two;\n")
	if err := db.MigrateSteps(t.Context(), pool, steps); err != nil {
		t.Fatalf("after the repair: %v", err)
	}
	if err := db.DownSteps(t.Context(), pool, steps); err != nil {
		t.Fatal(err)
	}
	if left := column(t, pool, names); len(left) > 0 {
		t.Errorf("Down left %v", left)
	}
}

func TestMigrateWaitsForTheLock(t *testing.T) {
	t.Parallel()
	pool := open(t, dbtest.EmptyURL(t))
	held := make(chan struct{})
	finish := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- db.UnderLock(t.Context(), pool, func() error {
			close(held)
			<-finish
			return nil
		})
	}()
	<-held
	short, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if err := db.Migrate(short, pool); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Migrate beside a holder = %v, want its deadline", err)
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	migrate(t, pool)
}

func TestRequireVersion(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]error{"130022": db.ErrTooOld, "140000": nil, "150018": nil, "90624": db.ErrTooOld} {
		if err := db.RequireVersion(number); !errors.Is(err, want) {
			t.Errorf("version %s: %v, want %v", number, err, want)
		}
	}
	if err := db.RequireVersion("fifteen"); err == nil || errors.Is(err, db.ErrTooOld) {
		t.Errorf("version fifteen: %v", err)
	}
}
