package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holm/internal/db"
	"holm/internal/db/dbtest"
)

const password = "hunter2"

func TestOpenNeverShowsThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://holm:" + password + "@127.0.0.1:1/holm",
		"postgres://holm:" + password + "@127.0.0.1:port/holm",
		"postgres://holm:/" + password + "/@localhost/holm",
		"postgres://holm:1/" + password + "@localhost/holm",
		"postgres://holm:1?" + password + "@localhost/holm",
		"postgres://holm:1#" + password + "@localhost/holm",
		"postgres://holm:%zz" + password + "@localhost/holm",
		"host=127.0.0.1 port=1 user=holm password='a b " + password + "'",
		"host=127.0.0.1 port=x user=holm password='a b " + password + "'",
		"mysql://holm:" + password + "@localhost/holm",
	} {
		pool, err := db.Open(t.Context(), url)
		if err == nil {
			pool.Close()
			t.Errorf("Open(%q) succeeded", url)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestOpenDefaultsGiveWayToTheURL(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	for _, test := range []struct {
		extra, name string
		conns       int32
	}{
		{"", "holm", 20},
		{"&application_name=other&pool_max_conns=3", "other", 3},
	} {
		pool := open(t, url+test.extra)
		name := column(t, pool, `SELECT current_setting('application_name')`)[0]
		if conns := pool.Config().MaxConns; name != test.name || conns != test.conns {
			t.Errorf("with %q: name %q and %d connections, want %q and %d", test.extra, name, conns, test.name, test.conns)
		}
	}
}

func TestInTx(t *testing.T) {
	t.Parallel()
	pool := open(t, dbtest.EmptyURL(t))
	if _, err := pool.Exec(t.Context(), `CREATE TABLE said (word text UNIQUE DEFERRABLE INITIALLY DEFERRED)`); err != nil {
		t.Fatal(err)
	}
	say := func(words ...string) func(pgx.Tx) error {
		return func(tx pgx.Tx) error {
			for _, word := range words {
				if _, err := tx.Exec(t.Context(), `INSERT INTO said VALUES ($1)`, word); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := db.InTx(t.Context(), pool, say("kept")); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no")
	if err := db.InTx(t.Context(), pool, func(tx pgx.Tx) error { return errors.Join(say("undone")(tx), cause) }); !errors.Is(err, cause) {
		t.Errorf("InTx = %v, want the caller's error", err)
	}
	if err := db.InTx(t.Context(), pool, say("twice", "twice")); err == nil {
		t.Error("a commit that the server refused was reported as done")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.InTx(t.Context(), pool, func(tx pgx.Tx) error { panic(say("panicked")(tx)) })
	}()
	gone, cancel := context.WithCancel(t.Context())
	if err := db.InTx(gone, pool, func(tx pgx.Tx) error { defer cancel(); return say("late")(tx) }); !errors.Is(err, context.Canceled) {
		t.Errorf("InTx of a caller that went away = %v", err)
	}

	if said := column(t, pool, `SELECT word FROM said`); len(said) != 1 || said[0] != "kept" {
		t.Errorf("stored %v, want only what was committed", said)
	}
	if busy := pool.Stat().AcquiredConns(); busy != 0 {
		t.Errorf("%d connections were not given back", busy)
	}
}

func TestIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool := open(t, dbtest.EmptyURL(t))

	_, refused := db.Open(ctx, "postgres://holm@127.0.0.1:1/holm")
	_, cut := pool.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
	_, syntax := pool.Exec(ctx, `SELECT FROM WHERE`)
	_, division := pool.Exec(ctx, `SELECT 1/0`)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, canceled := pool.Exec(gone, `SELECT 1`)
	_, unreached := pgx.Connect(gone, "postgres://holm@127.0.0.1:1/holm")
	conn, err := pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Conn().Close(ctx)
	_, broken := conn.Exec(ctx, `SELECT 1`)
	conn.Release()
	closing := open(t, dbtest.EmptyURL(t))
	closing.Close()
	_, closed := closing.Exec(ctx, `SELECT 1`)

	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"refused":           {refused, true},
		"session cut off":   {cut, true},
		"connection broken": {broken, true},
		"pool closed":       {closed, true},
		"answer cut off":    {fmt.Errorf("commit: %w", pgconn.ErrConnClosed), true},
		"reset":             {&net.OpError{Op: "read", Err: io.ErrUnexpectedEOF}, true},
		"syntax error":      {syntax, false},
		"division by zero":  {division, false},
		"caller gone":       {canceled, false},
		"caller gone early": {unreached, false},
		"no rows":           {pgx.ErrNoRows, false},
		"nothing":           {nil, false},
	} {
		if (test.err == nil) != (name == "nothing") {
			t.Errorf("%s: error %v", name, test.err)
		}
		if got := db.IsUnavailable(test.err); got != test.want {
			t.Errorf("%s: IsUnavailable(%v) = %v, want %v", name, test.err, got, test.want)
		}
	}
}
