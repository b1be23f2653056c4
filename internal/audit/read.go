package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
)

// Filter narrows List; empty fields do not.
type Filter struct {
	AgentID, Kind string
	// After is the seq of the last record that the reader has.
	After int64
	Limit int
}

// List gives chained records in their order.
func List(ctx context.Context, q db.Queryer, f Filter) ([]Entry, error) {
	rows, err := q.Query(ctx, `
		SELECT seq, at, kind, agent_id, actor, data, prev_hash, hash
		FROM audit_log
		WHERE seq > $1
		  AND ($2 = '' OR agent_id = $2)
		  AND ($3 = '' OR kind = $3)
		ORDER BY seq
		LIMIT $4`, f.After, f.AgentID, f.Kind, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
}

// Wire is a record on the wire and in an export. Together its fields are all
// that its hash covers.
type Wire struct {
	Seq      int64           `json:"seq"`
	At       time.Time       `json:"at"`
	Kind     string          `json:"kind"`
	AgentID  string          `json:"agentId"`
	Actor    string          `json:"actor" doc:"user:<id>, agent:<id>, admin, system or anonymous."`
	Data     json.RawMessage `json:"data"`
	PrevHash string          `json:"prevHash" doc:"The hash of the record before, in hexadecimal; empty for the first."`
	Hash     string          `json:"hash" doc:"SHA-256 over prevHash, seq, at, kind, agentId, actor and data, each with its length."`
}

// OnWire gives a record its form on the wire.
func (e Entry) OnWire() Wire {
	return Wire{
		Seq: e.Seq, At: e.At.UTC(), Kind: e.Kind, AgentID: e.AgentID, Actor: e.Actor, Data: json.RawMessage(e.Data),
		PrevHash: hex.EncodeToString(e.PrevHash), Hash: hex.EncodeToString(e.Hash),
	}
}

// Entry gives the record back as it was stored.
func (w Wire) Entry() (e Entry, err error) {
	e = Entry{Seq: w.Seq, At: w.At, Kind: w.Kind, AgentID: w.AgentID, Actor: w.Actor, Data: string(w.Data)}
	if e.PrevHash, err = hex.DecodeString(w.PrevHash); err != nil {
		return e, fmt.Errorf("prevHash of record %d: %w", w.Seq, err)
	}
	if e.Hash, err = hex.DecodeString(w.Hash); err != nil {
		return e, fmt.Errorf("hash of record %d: %w", w.Seq, err)
	}
	return e, nil
}

// Has tells whether the log has a record of an agent, or is about to.
func Has(ctx context.Context, q db.Queryer, agentID string) (has bool, err error) {
	err = q.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM audit_log WHERE agent_id = $1)
		    OR EXISTS (SELECT FROM audit_queue WHERE agent_id = $1)`, agentID).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for records: %w", err)
	}
	return has, nil
}
