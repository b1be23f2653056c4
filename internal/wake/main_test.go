package wake_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db/dbtest"
	"holm/internal/wake"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// patience is far beyond what anything here takes.
const patience = 20 * time.Second

func newHub(pool *pgxpool.Pool) *wake.Hub {
	return wake.New(pool, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// running gives a hub that listens, and a function that ends it.
func running(t *testing.T, pool *pgxpool.Pool) (hub *wake.Hub, end func()) {
	t.Helper()
	hub = newHub(pool)
	ready := hub.Wait("ready")
	defer ready.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(end)
	rings(t, ready, "the first LISTEN")
	return hub, end
}

// rings waits for a wake-up.
func rings(t *testing.T, w *wake.Waiter, why string) {
	t.Helper()
	select {
	case <-w.C:
	case <-time.After(patience):
		t.Fatalf("no wake-up by %s", why)
	}
}

func silent(t *testing.T, w *wake.Waiter, why string) {
	t.Helper()
	select {
	case <-w.C:
		t.Fatalf("a wake-up by %s", why)
	default:
	}
}
