package audit_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/audit"
	"holm/internal/db/dbtest"
	"holm/internal/wake"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is far beyond what anything here takes.
const patience = 20 * time.Second

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func chainer(pool *pgxpool.Pool) *audit.Chainer {
	return &audit.Chainer{Pool: pool, Hub: wake.New(pool, quiet()), Log: quiet()}
}

// running starts a chainer that ends with the test.
func running(t *testing.T, c *audit.Chainer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// chained chains until nothing is queued.
func chained(t *testing.T, c *audit.Chainer) {
	t.Helper()
	for {
		n, err := c.Chain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func verified(t *testing.T, pool *pgxpool.Pool, want int64) {
	t.Helper()
	if r, err := audit.Verify(t.Context(), pool, audit.Anchor{}); r.Head.Seq != want || r.Broken != nil || err != nil {
		t.Errorf("%+v verified, error %v; want %d records", r, err, want)
	}
}

// arrive waits until so many records are chained by goroutines of the test.
func arrive(t *testing.T, pool *pgxpool.Pool, want int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var n int64
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_log`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d records in the chain, want %d", n, want)
		}
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, pool *pgxpool.Pool, data any) {
	t.Helper()
	err := audit.Write(t.Context(), pool, audit.Record{Kind: "test", AgentID: "main", Actor: "admin", Data: data})
	if err != nil {
		t.Fatal(err)
	}
}
