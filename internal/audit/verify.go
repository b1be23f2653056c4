package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
)

// Anchor names a record and its hash. Noted elsewhere, it shows later that
// nothing up to it was changed, and nothing at the end was removed.
type Anchor struct {
	Seq  int64
	Hash []byte
}

// String is SEQ:HASH, as ParseAnchor reads it.
func (a Anchor) String() string { return fmt.Sprintf("%d:%x", a.Seq, a.Hash) }

// ParseAnchor reads SEQ:HASH.
func ParseAnchor(text string) (a Anchor, err error) {
	seq, hash, _ := strings.Cut(text, ":")
	if a.Seq, err = strconv.ParseInt(seq, 10, 64); err == nil {
		a.Hash, err = hex.DecodeString(hash)
	}
	if err != nil || a.Seq < 0 || a.Seq == 0 && len(a.Hash) != 0 || a.Seq > 0 && len(a.Hash) != 32 {
		return Anchor{}, fmt.Errorf("%q is no anchor: want SEQ:HASH as holm audit verify prints it", text)
	}
	return a, nil
}

// BrokenError says where the chain does not hold.
type BrokenError struct {
	// Seq is the first record that does not fit, or the one that is missing.
	Seq    int64
	Reason string
}

func (e *BrokenError) Error() string { return fmt.Sprintf("audit record %d %s", e.Seq, e.Reason) }

// Walk follows a chain from its first record on.
type Walk struct {
	head Anchor
	// expect is met when the walk comes past it.
	expect Anchor
}

// NewWalk makes a Walk that must meet expect; the zero Anchor is always met.
func NewWalk(expect Anchor) *Walk { return &Walk{expect: expect} }

// Head is the record that the walk has come to.
func (w *Walk) Head() Anchor { return w.head }

// Add takes the next record, or gives a BrokenError.
func (w *Walk) Add(e Entry) error {
	switch {
	case e.Seq != w.head.Seq+1:
		return &BrokenError{e.Seq, fmt.Sprintf("does not follow record %d: records between them are missing", w.head.Seq)}
	case !bytes.Equal(e.PrevHash, w.head.Hash):
		return &BrokenError{e.Seq, fmt.Sprintf("does not follow record %d: it holds another hash of it", w.head.Seq)}
	case !bytes.Equal(e.Hash, e.sum()):
		return &BrokenError{e.Seq, "was changed: its hash is that of other contents"}
	case e.Seq == w.expect.Seq && !bytes.Equal(e.Hash, w.expect.Hash):
		return &BrokenError{e.Seq, "is another than the expected one"}
	}
	w.head = Anchor{Seq: e.Seq, Hash: bytes.Clone(e.Hash)}
	return nil
}

// End tells whether the walk has met what it must.
func (w *Walk) End() error {
	if w.head.Seq < w.expect.Seq {
		return &BrokenError{w.head.Seq + 1, fmt.Sprintf("is missing: the chain ends before the expected record %d", w.expect.Seq)}
	}
	return nil
}

// Report is the outcome of Verify.
type Report struct {
	// Head is the last record that holds; its Seq is the number of such records.
	Head Anchor
	// Broken is nil when the whole chain holds.
	Broken *BrokenError
	// Queued are records that are not chained yet.
	Queued int64
}

// Verify walks the whole chain as it is at one moment. It needs no more memory
// for a long one.
func Verify(ctx context.Context, q db.Queryer, expect Anchor) (r Report, err error) {
	walk := NewWalk(expect)
	if err := q.QueryRow(ctx, `SELECT count(*) FROM audit_queue`).Scan(&r.Queued); err != nil {
		return r, fmt.Errorf("count queued records: %w", err)
	}
	rows, err := q.Query(ctx, `
		SELECT seq, at, kind, agent_id, actor, data, prev_hash, hash
		FROM audit_log
		ORDER BY seq`)
	if err != nil {
		return r, fmt.Errorf("read audit log: %w", err)
	}
	var e Entry
	_, err = pgx.ForEachRow(rows, []any{&e.Seq, &e.At, &e.Kind, &e.AgentID, &e.Actor, &e.Data, &e.PrevHash, &e.Hash}, func() error {
		return walk.Add(e)
	})
	if err == nil {
		err = walk.End()
	}
	r.Head = walk.Head()
	if errors.As(err, &r.Broken) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read audit log: %w", err)
	}
	return r, nil
}
