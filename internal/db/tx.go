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

	began := &begun{Tx: tx}
	if err := do(began); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	for _, follow := range began.after {
		follow()
	}
	return nil
}

// begun is a transaction of InTx.
type begun struct {
	pgx.Tx
	after []func()
}

// AfterCommit has InTx call follow once tx is committed. It is not called after a rollback, nor
// when the end of a commit is unknown, nor for a transaction that InTx did not begin: what loses
// something by that needs another way besides.
func AfterCommit(tx pgx.Tx, follow func()) {
	if began, ok := tx.(*begun); ok {
		began.after = append(began.after, follow)
	}
}

// Send runs the statements of b within tx in one round trip, each seeing what those before it did,
// and hands their results to the functions that they were queued with.
func Send(ctx context.Context, tx pgx.Tx, b *pgx.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, b).Close()
}
