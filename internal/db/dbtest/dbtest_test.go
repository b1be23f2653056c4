package dbtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"holm/internal/db"
	"holm/internal/db/dbtest"
)

// helperMode makes the test binary act as a test process that is killed in the middle of a test.
const helperMode = "HOLM_DBTEST_HELPER"

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestDBIsMigratedAndOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 3 {
		pool := dbtest.DB(t)
		if waiting, err := db.Pending(t.Context(), pool); err != nil || waiting {
			t.Fatalf("Pending = %v, %v; want a migrated database", waiting, err)
		}
		if _, err := pool.Exec(t.Context(), `CREATE TABLE mine (a int)`); err != nil {
			t.Fatalf("a table of another test is here: %v", err)
		}
	}
}

func TestDatabaseEndsWithItsTest(t *testing.T) {
	var name string
	t.Run("user", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), dbtest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		// Left open, as a program that a test started may leave it.
		if err := conn.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var left bool
	const find = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`
	if err := dbtest.DB(t).QueryRow(t.Context(), find, name).Scan(&left); err != nil || left || name == "" {
		t.Errorf("database %q is left: %v, %v", name, left, err)
	}
}

func TestTxLeavesNothing(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		t.Run("user", func(t *testing.T) {
			tx := dbtest.Tx(t)
			var name string
			if err := tx.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
				t.Fatal(err)
			}
			seen[name] = true
			if _, err := tx.Exec(t.Context(), `CREATE TABLE mine (a int)`); err != nil {
				t.Fatal(err)
			}
			// A transaction that the test has broken is no trouble either.
			if _, err := tx.Exec(t.Context(), `SELECT 1/0`); err == nil {
				t.Fatal("1/0 worked")
			}
		})
	}
	if len(seen) != 1 {
		t.Errorf("three tests in turn used the databases %v, want one", seen)
	}
}

func TestTxsAtOnceDoNotWaitForEachOther(t *testing.T) {
	first, second := dbtest.Tx(t), dbtest.Tx(t)
	for _, tx := range []pgx.Tx{first, second} {
		if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '1s'; CREATE TABLE mine (a int)`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServerIsNoLeakOfATest(t *testing.T) {
	dbtest.URL(t)
	goleak.VerifyNone(t, dbtest.IgnoreServer()...)
}

// TestKilledProcessLeavesNothing runs the test binary as another test process. It has a server of
// its own, which ends with it; whoever takes its folder next drops its database.
func TestKilledProcessLeavesNothing(t *testing.T) {
	if os.Getenv(helperMode) != "" {
		actUntilKilled(t)
		return
	}
	dbtest.URL(t)
	for range 2 {
		said := runAndKill(t)
		if !strings.HasPrefix(said, "databases: 1\n") {
			t.Errorf("another process said %q, want one database: its own", said)
		}
	}
}

func actUntilKilled(t *testing.T) {
	conn, err := pgx.Connect(context.Background(), dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	var count int
	const counting = `SELECT count(*) FROM pg_database WHERE starts_with(datname, 'holm_test_')`
	if err := conn.QueryRow(context.Background(), counting).Scan(&count); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("databases: %d\n", count)
	select {}
}

func runAndKill(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLeavesNothing$")
	cmd.Env = append(os.Environ(), helperMode+"=1", "HOLM_TEST_DATABASE_URL=")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	n, err := stdout.Read(buffer)
	if err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return string(buffer[:n])
}
