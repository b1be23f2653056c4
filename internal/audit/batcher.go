package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/wake"
)

// Batcher writes records that belong to no transaction: it takes whatever
// waits and commits it at once, so that many callers share one commit. Records
// that the database was away for are kept and written when it is back, at most
// maxOwed of them: what they tell of has happened.
type Batcher struct {
	pool *pgxpool.Pool
	hub  *wake.Hub
	in   chan queued
	// done is closed when nothing is taken any more; writing is held by every
	// Write, so that Run knows when the last has handed over.
	done    chan struct{}
	writing sync.RWMutex
	// owed are records whose writers have heard that the database is away.
	owed []queued
}

const (
	// maxOwed bounds the memory of an outage, some MB.
	maxOwed = 10_000
	// owedPause is the time between two tries to write them.
	owedPause = time.Second
)

type queued struct {
	record Record
	at     time.Time
	data   []byte
	// result is nil once it was used.
	result chan<- error
}

// tell answers who waits, once.
func (e *queued) tell(err error) {
	if e.result != nil {
		e.result <- err
		e.result = nil
	}
}

// NewBatcher makes a Batcher; records wait until Run is called.
func NewBatcher(pool *pgxpool.Pool, hub *wake.Hub) *Batcher {
	return &Batcher{pool: pool, hub: hub, in: make(chan queued, 1024), done: make(chan struct{})}
}

// Write hands a record over and gives a channel that receives the outcome of
// its commit, once. A record refused because the database is away may be written
// later all the same. It waits while 1024 records do; after the end of Run it
// refuses.
func (b *Batcher) Write(ctx context.Context, r Record) <-chan error {
	result := make(chan error, 1)
	actor, data, err := r.encoded(ctx)
	if err != nil {
		result <- err
		return result
	}
	r.Actor = actor
	b.writing.RLock()
	defer b.writing.RUnlock()
	select {
	case <-b.done:
		result <- errEnded
		return result
	default:
	}
	select {
	case b.in <- queued{record: r, at: time.Now(), data: data, result: result}:
	case <-ctx.Done():
		result <- ctx.Err()
	case <-b.done:
		result <- errEnded
	}
	return result
}

var (
	errEnded    = errors.New("audit: the writer has ended")
	errPanicked = errors.New("audit: the writer failed")
)

// Run writes until ctx ends and then what is left.
func (b *Batcher) Run(ctx context.Context) {
	for {
		var later <-chan time.Time
		if len(b.owed) > 0 {
			later = time.After(owedPause)
		}
		select {
		case <-ctx.Done():
			b.end(context.WithoutCancel(ctx))
			return
		case <-later:
			b.settle(context.WithoutCancel(ctx))
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
	b.settle(ctx)
}

// settle writes what is owed, as far as the database takes it.
func (b *Batcher) settle(ctx context.Context) {
	owed := b.owed
	b.owed = nil
	for len(owed) > 0 && len(b.owed) == 0 {
		n := min(len(owed), batchSize)
		b.commit(ctx, owed[:n])
		owed = owed[n:]
	}
	b.owed = append(b.owed, owed...)
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
	err := errPanicked // nobody waits for ever for a writer that panicked
	defer func() {
		for i := range batch {
			batch[i].tell(err)
		}
	}()
	err = b.store(ctx, batch)
	if err != nil && len(batch) > 1 && !db.IsUnavailable(err) {
		for i := range batch {
			b.commit(ctx, batch[i:i+1])
		}
		return
	}
	for i := range batch {
		batch[i].tell(err)
	}
	switch {
	case err == nil:
		b.hub.Publish(QueuedKey)
	case db.IsUnavailable(err):
		b.owed = append(b.owed, batch[:min(len(batch), max(0, maxOwed-len(b.owed)))]...)
	}
}

func (b *Batcher) store(ctx context.Context, batch []queued) error {
	_, err := b.pool.CopyFrom(ctx, pgx.Identifier{"audit_queue"},
		[]string{"at", "kind", "agent_id", "actor", "data"},
		pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
			e := batch[i]
			return []any{e.at, e.record.Kind, e.record.AgentID, e.record.Actor, e.data}, nil
		}))
	if err != nil {
		return fmt.Errorf("write audit records: %w", err)
	}
	return nil
}
