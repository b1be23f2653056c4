package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/audit"
	"holm/internal/db/dbtest"
	"holm/internal/wake"
)

// batching runs a Batcher; end waits until it has written all.
func batching(t *testing.T, b *audit.Batcher) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { b.Run(ctx); close(done) }()
	end = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(end)
	return end
}

func newBatcher(pool *pgxpool.Pool) *audit.Batcher {
	return audit.NewBatcher(pool, wake.New(pool, quiet()))
}

func outcome(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		t.Fatal("a record was forgotten: its writer waits for ever")
		return nil
	}
}

func queuedRecords(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_queue`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestABatcherCommitsWhatItReports(t *testing.T) {
	const callers, each = 32, 25
	pool := dbtest.DB(t)
	b := newBatcher(pool)
	batching(t, b)
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			for i := range each {
				if err := <-b.Write(context.Background(), audit.Record{Kind: "test", Data: fmt.Sprint(n, "/", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := queuedRecords(t, pool); n != callers*each {
		t.Errorf("%d records stored, want %d", n, callers*each)
	}
}

// At its end there may be more than one batch left.
func TestABatcherWritesWhatIsLeft(t *testing.T) {
	pool := dbtest.DB(t)
	b := newBatcher(pool)
	var results []<-chan error
	for i := range 1024 {
		results = append(results, b.Write(t.Context(), audit.Record{Kind: "test", Data: i}))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.Run(ctx)
	for _, result := range results {
		if err := outcome(t, result); err != nil {
			t.Fatal(err)
		}
	}
	if n := queuedRecords(t, pool); n != 1024 {
		t.Errorf("%d records stored, want 1024", n)
	}
}

// Every writer at the moment of the end is told that its record is stored, or
// that it is not.
func TestNoWriterIsForgottenAtTheEnd(t *testing.T) {
	pool := dbtest.DB(t)
	b := newBatcher(pool)
	end := batching(t, b)
	var mu sync.Mutex
	stored := 0
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				if err := outcome(t, b.Write(context.Background(), audit.Record{Kind: "test", Data: 1})); err != nil {
					return
				}
				mu.Lock()
				stored++
				if stored == 200 {
					go end()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	end()
	if n := queuedRecords(t, pool); n != stored {
		t.Errorf("%d records stored, %d reported", n, stored)
	}
}

func TestABadRecordCostsNoOther(t *testing.T) {
	pool := dbtest.DB(t)
	b := newBatcher(pool)
	first := b.Write(t.Context(), audit.Record{Kind: "test", Data: 1})
	bad := b.Write(t.Context(), audit.Record{Kind: "nul \x00", Data: 1})
	unencodable := b.Write(t.Context(), audit.Record{Kind: "test", Data: make(chan int)})
	last := b.Write(t.Context(), audit.Record{Kind: "test", Data: 2})
	batching(t, b)
	if err := errors.Join(outcome(t, first), outcome(t, last)); err != nil {
		t.Errorf("good records: %v", err)
	}
	if outcome(t, bad) == nil || outcome(t, unencodable) == nil {
		t.Error("a record that cannot be stored was reported as stored")
	}
}

func TestFailureIsReported(t *testing.T) {
	pool := dbtest.DB(t)
	b := newBatcher(pool)
	exec(t, pool, `ALTER TABLE audit_queue RENAME TO moved`)
	batching(t, b)
	if outcome(t, b.Write(t.Context(), audit.Record{Kind: "test", Data: 1})) == nil {
		t.Error("a record was lost without a word")
	}
	exec(t, pool, `ALTER TABLE moved RENAME TO audit_queue`)
	if err := outcome(t, b.Write(t.Context(), audit.Record{Kind: "test", Data: 2})); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

func TestAWriterDoesNotWaitLongerThanItsContext(t *testing.T) {
	b := newBatcher(dbtest.DB(t))
	ctx, cancel := context.WithCancel(t.Context())
	for range 1024 {
		b.Write(ctx, audit.Record{Kind: "test"})
	}
	cancel()
	if err := outcome(t, b.Write(ctx, audit.Record{Kind: "test"})); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}
