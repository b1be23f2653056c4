package audit_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/db/dbtest"
)

// outage is a pool whose database can be away.
type outage struct {
	*pgxpool.Pool
	away atomic.Bool
}

func newOutage(t *testing.T, pool *pgxpool.Pool) *outage {
	t.Helper()
	var o outage
	config := pool.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if o.away.Load() {
			return nil, &net.OpError{Op: "dial", Err: errors.New("the database is away")}
		}
		return dial(ctx, network, address)
	}
	var err error
	if o.Pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return &o
}

func (o *outage) begin() {
	o.away.Store(true)
	o.Reset() // no connection from before is left
}

// TestAnOutageCostsNoRecord: who writes during one is told, and the records
// are there afterwards, in their order and with their own time.
func TestAnOutageCostsNoRecord(t *testing.T) {
	for name, stopped := range map[string]bool{"back while it runs": false, "back at its end": true} {
		t.Run(name, func(t *testing.T) {
			pool := dbtest.DB(t)
			o := newOutage(t, pool)
			b := newBatcher(o.Pool)
			end := batching(t, b)
			o.begin()
			for _, kind := range []string{"one", "two"} {
				if err := outcome(t, b.Write(t.Context(), audit.Record{Kind: kind, Data: 1})); !db.IsUnavailable(err) {
					t.Errorf("%s: got %v", kind, err)
				}
			}
			o.away.Store(false)
			back := time.Now()
			if stopped {
				end()
			}
			for deadline := time.Now().Add(patience); queuedRecords(t, pool) < 2 && time.Now().Before(deadline); {
				time.Sleep(5 * time.Millisecond)
			}
			if err := outcome(t, b.Write(t.Context(), audit.Record{Kind: "three", Data: 1})); (err != nil) != stopped {
				t.Errorf("afterwards: %v", err)
			}
			if diff := cmp.Diff([]string{"one", "two"}, kindsBefore(t, pool, back)); diff != "" {
				t.Errorf("records of the outage (-want +got):\n%s", diff)
			}
		})
	}
}

func kindsBefore(t *testing.T, pool *pgxpool.Pool, at time.Time) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT kind FROM audit_queue WHERE at < $1 ORDER BY id`, at)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}
