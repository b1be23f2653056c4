package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/audit"
	"holm/internal/db/dbtest"
)

func TestARecordGoesWithItsTransaction(t *testing.T) {
	pool := dbtest.DB(t)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := audit.Write(t.Context(), tx, audit.Record{Kind: "undone", Data: 1}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, pool, "kept")
	chained(t, chainer(pool))
	verified(t, pool, 1)
}

func TestConcurrentWritersAndTwoChainersMakeOneChain(t *testing.T) {
	const writers, each = 16, 30
	pool := dbtest.DB(t)
	running(t, chainer(pool))
	running(t, chainer(pool))
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				err := pgx.BeginFunc(context.Background(), pool, func(tx pgx.Tx) error {
					return audit.Write(context.Background(), tx, audit.Record{Kind: "test", Data: fmt.Sprint(n, "/", i)})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	arrive(t, pool, writers*each)
	verified(t, pool, writers*each)
	var distinct int
	if err := pool.QueryRow(t.Context(), `SELECT count(DISTINCT data) FROM audit_log`).Scan(&distinct); err != nil || distinct != writers*each {
		t.Errorf("%d different records, error %v", distinct, err)
	}
}

func TestChainTakesBatches(t *testing.T) {
	pool := dbtest.DB(t)
	exec(t, pool, `INSERT INTO audit_queue (kind, data) SELECT 'test', to_json(n) FROM generate_series(1, 501) n`)
	c := chainer(pool)
	for _, want := range []int{500, 1, 0} {
		if n, err := c.Chain(t.Context()); n != want || err != nil {
			t.Errorf("a batch of %d, error %v; want %d", n, err, want)
		}
	}
	verified(t, pool, 501)
}

func TestAChainerWithoutTheTurnLeavesTheQueue(t *testing.T) {
	pool := dbtest.DB(t)
	write(t, pool, 1)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, int64(0x686f6c6d61756469)); err != nil {
		t.Fatal(err)
	}
	if n, err := chainer(pool).Chain(t.Context()); n != 0 || err != nil {
		t.Errorf("chained %d while another has the turn, error %v", n, err)
	}
}

// Whatever encoding/json writes can be recorded, also what jsonb refuses.
func TestAnyDataCanBeRecorded(t *testing.T) {
	pool := dbtest.DB(t)
	for _, data := range []any{
		nil, "nul \x00 in text", map[string]any{"\x00": []int{}}, "\xff\xfe",
		json.RawMessage(`{"huge":1e999999,"big":9007199254740993}`), strings.Repeat("x", 1<<20),
	} {
		write(t, pool, data)
	}
	chained(t, chainer(pool))
	verified(t, pool, 6)
	if err := audit.Write(t.Context(), pool, audit.Record{Kind: "test", Data: make(chan int)}); err == nil {
		t.Error("data that cannot be encoded were recorded")
	}
}

func TestTheLogRefusesChanges(t *testing.T) {
	pool := dbtest.DB(t)
	write(t, pool, 1)
	chained(t, chainer(pool))
	for _, sql := range []string{
		`UPDATE audit_log SET actor = 'nobody'`,
		`UPDATE audit_log SET actor = 'nobody' WHERE false`,
		`DELETE FROM audit_log`,
		`TRUNCATE audit_log`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v, want a refusal", sql, err)
		}
	}
	verified(t, pool, 1)
}
