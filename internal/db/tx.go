package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// InTx runs do in a transaction (read committed) and commits when it returns nil. An error of do
// is returned as it is, after a rollback; so is a panic. When the commit itself fails through a
// broken connection (see IsUnavailable), the transaction may have been committed.
func InTx(ctx context.Context, pool *pgxpool.Pool, do func(pgx.Tx) error) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// A caller that has gone away must not keep the connection in a transaction. After a commit
	// this does nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()

	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}

// Send runs the statements of b within tx in one round trip, each seeing what those before it did,
// and hands their results to the functions that they were queued with.
func Send(ctx context.Context, tx pgx.Tx, b *pgx.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, b).Close()
}
