// Package audit keeps the record of who decided and did what: append-only and
// hash-chained. A record is queued by the transaction it tells of; one chainer
// among all processes moves the queue into the chain.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/wake"
)

// Record is one thing that happened. Data must not hold secrets or arguments;
// digests and ids stand for them.
type Record struct {
	Kind    string
	AgentID string
	// Actor is who did it, as an Actor's name or as the id of a requester or user.
	Actor string
	// Data is an object. The trace of the request that it was written for is
	// added as traceId; see WithTrace.
	Data any
}

// encoded gives the record as it is stored: its actor in the one form, its data
// with the trace of ctx.
func (r Record) encoded(ctx context.Context) (actor string, data []byte, err error) {
	data, err = json.Marshal(r.Data)
	if err != nil {
		return "", nil, fmt.Errorf("encode audit record %s: %w", r.Kind, err)
	}
	return Actor(r.Actor), withTrace(data, TraceOf(ctx)), nil
}

// Write queues a record with the caller's transaction.
func Write(ctx context.Context, q db.Queryer, r Record) error {
	actor, data, err := r.encoded(ctx)
	if err != nil {
		return err
	}
	if _, err := q.Exec(ctx, insertRecord, r.Kind, r.AgentID, actor, data); err != nil {
		return fmt.Errorf("write audit record %s: %w", r.Kind, err)
	}
	return nil
}

// Queue is Write as a statement of the batch b.
func Queue(ctx context.Context, b *pgx.Batch, r Record) error {
	actor, data, err := r.encoded(ctx)
	if err != nil {
		return err
	}
	b.Queue(insertRecord, r.Kind, r.AgentID, actor, data)
	return nil
}

const insertRecord = `
	INSERT INTO audit_queue (kind, agent_id, actor, data)
	VALUES ($1, $2, $3, $4)`

// Chainer moves queued records into the chain.
type Chainer struct {
	Pool *pgxpool.Pool
	Hub  *wake.Hub
	Log  *slog.Logger
}

// QueuedKey may be published after a commit that wrote records, to have them
// chained at once rather than within a second.
const QueuedKey = "audit"

// Run chains until ctx ends.
func (c *Chainer) Run(ctx context.Context) error {
	waiter := c.Hub.Wait(QueuedKey)
	defer waiter.Close()
	for {
		n, err := c.Chain(ctx)
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("audit records wait to be chained", "error", err)
		}
		if n == batchSize {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-waiter.C:
		case <-time.After(time.Second):
		}
	}
}

const (
	batchSize = 500
	chainLock = 0x686f6c6d61756469 // "holmaudi"
)

// Chain moves at most one batch and gives its size. Processes take turns by
// an advisory lock; one that does not get it has nothing to do.
func (c *Chainer) Chain(ctx context.Context) (n int, err error) {
	err = pgx.BeginFunc(ctx, c.Pool, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, chainLock).Scan(&mine); err != nil || !mine {
			return err
		}
		queued, err := take(ctx, tx)
		if err != nil || len(queued) == 0 {
			return err
		}
		head, err := last(ctx, tx)
		if err != nil {
			return err
		}
		n = len(queued)
		return insert(ctx, tx, link(head, queued))
	})
	return n, err
}

// Entry is one chained record as it is stored.
type Entry struct {
	Seq      int64
	At       time.Time
	Kind     string
	AgentID  string
	Actor    string
	Data     string
	PrevHash []byte
	Hash     []byte
}

func take(ctx context.Context, tx pgx.Tx) ([]Entry, error) {
	rows, err := tx.Query(ctx, `
		WITH taken AS (
		    DELETE FROM audit_queue
		    WHERE id IN (SELECT id FROM audit_queue ORDER BY id LIMIT $1)
		    RETURNING id, at, kind, agent_id, actor, data::text AS data
		)
		SELECT id, at, kind, agent_id, actor, data, ''::bytea, ''::bytea
		FROM taken
		ORDER BY id`, batchSize)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
}

func last(ctx context.Context, tx pgx.Tx) (Entry, error) {
	rows, err := tx.Query(ctx, `
		SELECT seq, at, kind, agent_id, actor, data, prev_hash, hash
		FROM audit_log
		ORDER BY seq DESC
		LIMIT 1`)
	if err != nil {
		return Entry{}, err
	}
	entry, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Entry])
	if errors.Is(err, pgx.ErrNoRows) {
		return Entry{}, nil
	}
	return entry, err
}

func link(head Entry, entries []Entry) []Entry {
	for i := range entries {
		entries[i].Seq = head.Seq + 1
		entries[i].PrevHash = append([]byte{}, head.Hash...)
		entries[i].Hash = entries[i].sum()
		head = entries[i]
	}
	return entries
}

// sum hashes each field with its length, after the hash before it.
func (e Entry) sum() []byte {
	h := sha256.New()
	field := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	field(e.PrevHash)
	field(binary.BigEndian.AppendUint64(nil, uint64(e.Seq)))
	field(binary.BigEndian.AppendUint64(nil, uint64(e.At.UnixMicro())))
	for _, s := range []string{e.Kind, e.AgentID, e.Actor, e.Data} {
		field([]byte(s))
	}
	return h.Sum(nil)
}

func insert(ctx context.Context, tx pgx.Tx, entries []Entry) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"audit_log"},
		[]string{"seq", "at", "kind", "agent_id", "actor", "data", "prev_hash", "hash"},
		pgx.CopyFromSlice(len(entries), func(i int) ([]any, error) {
			e := entries[i]
			return []any{e.Seq, e.At, e.Kind, e.AgentID, e.Actor, e.Data, e.PrevHash, e.Hash}, nil
		}))
	return err
}
