// Package dbtest gives tests a real PostgreSQL database with Holm's schema. It owns the server,
// the migrated template and the end of each database; a test needs no set-up and no clean-up.
//
// With HOLM_TEST_DATABASE_URL set (a postgres:// URL of a role that may create databases) that
// server is used. Otherwise each test process starts its own, as package embedded does for Holm,
// in the first free folder of a few kept under /tmp, and the kernel ends it with the process.
package dbtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
)

// patience bounds each step of set-up and clean-up, so that a broken server fails a test.
const patience = 2 * time.Minute

// DB returns a pool on a database of the test's own, migrated and empty. Pool and database end
// with the test.
func DB(t testing.TB) *pgxpool.Pool {
	t.Helper()
	url := URL(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pool, err := db.Open(ctx, url)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// URL returns the address of a database of the test's own, migrated and empty, for tests that
// start a program. The database ends with the test, and sessions still open on it are cut off.
func URL(t testing.TB) string {
	t.Helper()
	host := started(t)
	name, err := host.clone()
	if err != nil {
		t.Fatalf("dbtest: make database: %v", err)
	}
	t.Cleanup(func() {
		if err := host.drop(name); err != nil {
			t.Errorf("dbtest: drop database: %v", err)
		}
	})
	return host.urlOf(name)
}

// EmptyURL returns the address of an empty database without any schema, for tests of migrations.
// It ends with the test as that of URL does.
func EmptyURL(t testing.TB) string {
	t.Helper()
	host := started(t)
	name, err := host.create("template0")
	if err != nil {
		t.Fatalf("dbtest: make empty database: %v", err)
	}
	t.Cleanup(func() {
		if err := host.drop(name); err != nil {
			t.Errorf("dbtest: drop database: %v", err)
		}
	})
	return host.urlOf(name)
}

// Tx returns a transaction that is rolled back when the test ends. No other test, parallel ones
// included, sees or waits for what it does. It costs a few milliseconds; tests that need a commit,
// NOTIFY, or more than one session use DB.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	host := started(t)
	name, err := host.borrow()
	if err != nil {
		t.Fatalf("dbtest: make database: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, host.urlOf(name))
	if err != nil {
		t.Fatalf("dbtest: connect: %v", err)
	}
	t.Cleanup(func() {
		// Closing the session rolls back, whatever state the test left it in.
		if err := conn.Close(context.Background()); err != nil {
			t.Errorf("dbtest: close: %v", err)
		}
		host.giveBack(name)
	})
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatalf("dbtest: begin: %v", err)
	}
	return tx
}
