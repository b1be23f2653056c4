package db

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// exclusivePoll is how often a waiting process tries again: who holds the lock
// may die at any time, and nobody is told.
const exclusivePoll = time.Second

// Exclusive waits until this process is the only one among all on the database
// to hold name, and gives the release. The lock lives on a connection of its
// own and is gone when that breaks; holders must survive a second one for
// moments.
func Exclusive(ctx context.Context, pool *pgxpool.Pool, name string) (release func(), err error) {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect for lock %s: %w", name, err)
	}
	conn := pooled.Hijack()
	closeConn := func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	key := fnv.New64a()
	key.Write([]byte("holm exclusive " + name))
	for {
		var mine bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(key.Sum64())).Scan(&mine); err != nil {
			closeConn()
			return nil, fmt.Errorf("take lock %s: %w", name, err)
		}
		if mine {
			return closeConn, nil
		}
		select {
		case <-ctx.Done():
			closeConn()
			return nil, ctx.Err()
		case <-time.After(exclusivePoll):
		}
	}
}
