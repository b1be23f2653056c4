package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/wake"
)

// Batcher writes records that belong to no transaction: it takes whatever
// waits and commits it at once, so that many callers share one commit.
type Batcher struct {
	pool *pgxpool.Pool
	hub  *wake.Hub
	in   chan queued
	// done is closed when nothing is taken any more; writing is held by every
	// Write, so that Run knows when the last has handed over.
	done    chan struct{}
	writing sync.RWMutex
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
// its commit, once. It waits while 1024 records do; after the end of Run it
// refuses.
func (b *Batcher) Write(ctx context.Context, r Record) <-chan error {
	result := make(chan error, 1)
	data, err := json.Marshal(r.Data)
	if err != nil {
		result <- fmt.Errorf("encode audit record %s: %w", r.Kind, err)
		return result
	}
	b.writing.RLock()
	defer b.writing.RUnlock()
	select {
	case <-b.done:
		result <- errEnded
		return result
	default:
	}
	select {
	case b.in <- queued{record: r, data: data, result: result}:
	case <-ctx.Done():
		result <- ctx.Err()
	case <-b.done:
		result <- errEnded
	}
	return result
}

var errEnded = errors.New("audit: the writer has ended")

// Run writes until ctx ends and then what is left.
func (b *Batcher) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			b.end(context.WithoutCancel(ctx))
			return
		case first := <-b.in:
			b.commit(context.WithoutCancel(ctx), b.take([]queued{first}))
		}
	}
}

// end refuses further records, waits for those being handed over and commits
// all that was.
func (b *Batcher) end(ctx context.Context) {
	close(b.done)
	b.writing.Lock()
	defer b.writing.Unlock()
	for batch := b.take(nil); len(batch) > 0; batch = b.take(nil) {
		b.commit(ctx, batch)
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

// commit stores a batch. One record that the database will not have must not
// cost the others theirs: then each is tried alone.
func (b *Batcher) commit(ctx context.Context, batch []queued) {
	err := b.store(ctx, batch)
	if err != nil && len(batch) > 1 && !db.IsUnavailable(err) {
		for _, e := range batch {
			b.commit(ctx, []queued{e})
		}
		return
	}
	for _, e := range batch {
		e.result <- err
	}
	if err == nil {
		b.hub.Publish(QueuedKey)
	}
}

func (b *Batcher) store(ctx context.Context, batch []queued) error {
	_, err := b.pool.CopyFrom(ctx, pgx.Identifier{"audit_queue"},
		[]string{"kind", "agent_id", "actor", "data"},
		pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			e := batch[i]
			return []any{e.record.Kind, e.record.AgentID, e.record.Actor, e.data}, nil
		}))
	if err != nil {
		return fmt.Errorf("write audit records: %w", err)
	}
	return nil
}
