package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/wake"
)

// Batcher writes records that belong to no transaction: it takes whatever
// waits and commits it at once, so that many callers share one commit.
type Batcher struct {
	pool *pgxpool.Pool
	hub  *wake.Hub
	in   chan queued
	done chan struct{}
}

type queued struct {
	record Record
	data   []byte
	result chan<- error
}

// NewBatcher makes a Batcher; records wait until Run is called.
func NewBatcher(pool *pgxpool.Pool, hub *wake.Hub) *Batcher {
	return &Batcher{pool: pool, hub: hub, in: make(chan queued, 1024), done: make(chan struct{})}
}

// Write hands a record over and gives a channel that receives the outcome of
// its commit, once.
func (b *Batcher) Write(ctx context.Context, r Record) <-chan error {
	result := make(chan error, 1)
	data, err := json.Marshal(r.Data)
	if err != nil {
		result <- fmt.Errorf("encode audit record %s: %w", r.Kind, err)
		return result
	}
	select {
	case b.in <- queued{record: r, data: data, result: result}:
	case <-ctx.Done():
		result <- ctx.Err()
	case <-b.done:
		result <- fmt.Errorf("audit: the writer has ended")
	}
	return result
}

// Run writes until ctx ends and then what is left.
func (b *Batcher) Run(ctx context.Context) {
	defer close(b.done)
	for {
		select {
		case <-ctx.Done():
			b.commit(context.WithoutCancel(ctx), b.take(nil))
			return
		case first := <-b.in:
			b.commit(context.WithoutCancel(ctx), b.take([]queued{first}))
		}
	}
}

// take collects what waits, up to a batch.
func (b *Batcher) take(batch []queued) []queued {
	for len(batch) < batchSize {
		select {
		case e := <-b.in:
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

func (b *Batcher) commit(ctx context.Context, batch []queued) {
	if len(batch) == 0 {
		return
	}
	_, err := b.pool.CopyFrom(ctx, pgx.Identifier{"audit_queue"},
		[]string{"kind", "agent_id", "actor", "data"},
		pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			e := batch[i]
			return []any{e.record.Kind, e.record.AgentID, e.record.Actor, e.data}, nil
		}))
	for _, e := range batch {
		e.result <- err
	}
	if err == nil {
		b.hub.Publish(QueuedKey)
	}
}
