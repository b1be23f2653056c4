package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/wake"
)

const (
	batchSize = 500
	// pollInterval covers a notice that was lost with its connection.
	pollInterval = 2 * time.Second
	// settleInterval is how soon a stream looks again while transactions that
	// may still bring a lower number are running.
	settleInterval = 5 * time.Millisecond
	// patience bounds the wait for them: Holm's own transactions are far
	// shorter, so what runs longer appends no events.
	patience = 10 * time.Second
)

// Stream reads events as they are committed.
type Stream struct {
	Pool *pgxpool.Pool
	Hub  *wake.Hub
	// AgentID is required; SessionID narrows to one session.
	AgentID, SessionID string
	// After is the id of the last event that the reader has.
	After int64
	// Once ends Run with nil when every committed event was handed out.
	Once bool
	// Beside gives events for the wire alone. It is called at first and after every
	// change, once all that was committed has been handed out. Nil: there are none.
	Beside func(context.Context) ([]Event, error)
	// Idle is called whenever nothing came for IdleEvery (heartbeats); an error
	// ends the stream.
	Idle      func() error
	IdleEvery time.Duration
}

// Recent is the id after which a reader begins who wants what comes now: that of
// the last event which is so old that none before it can appear any more.
func Recent(ctx context.Context, q db.Queryer, agentID string) (id int64, err error) {
	err = q.QueryRow(ctx, `
		SELECT COALESCE(max(id), 0)
		FROM session_events
		WHERE agent_id = $1
		  AND created_at < clock_timestamp() - make_interval(secs => $2)`, agentID, patience.Seconds()).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("find recent events: %w", err)
	}
	return id, nil
}

// Keys are what is published when events of a session or of an agent were
// committed.
func Keys(agentID, sessionID string) []string {
	return []string{"session:" + sessionID, "events:" + agentID}
}

// Run calls emit for each event in the order of ids, without gaps and without
// repeats, until ctx ends or a call fails.
func (s *Stream) Run(ctx context.Context, emit func(Event) error) error {
	key := "events:" + s.AgentID
	if s.SessionID != "" {
		key = "session:" + s.SessionID
	}
	waiter := s.Hub.Wait(key)
	defer waiter.Close()
	idle := time.NewTicker(s.IdleEvery)
	defer idle.Stop()

	var mark watermark
	for {
		batch, err := s.read(ctx)
		if err != nil {
			return err
		}
		limit := mark.advance(batch)
		for _, event := range batch.events {
			if event.ID > limit {
				break
			}
			if err := emit(event); err != nil {
				return err
			}
			s.After = event.ID
			idle.Reset(s.IdleEvery)
		}
		pause := pollInterval
		switch n := len(batch.events); {
		case n > 0 && batch.events[n-1].ID > limit && mark.reached():
			if mark, err = s.mark(ctx, mark.final); err != nil {
				return err
			}
			pause = 0
		case n > 0 && batch.events[n-1].ID > limit:
			pause = settleInterval
		case n == batchSize || s.Once && n > 0:
			pause = 0
		case s.Once:
			return nil
		}
		if pause == pollInterval && s.Beside != nil {
			if err := s.beside(ctx, emit); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-waiter.C:
		case <-time.After(pause):
		case <-idle.C:
			if err := s.Idle(); err != nil {
				return err
			}
		}
	}
}

func (s *Stream) beside(ctx context.Context, emit func(Event) error) error {
	events, err := s.Beside(ctx)
	for _, event := range events {
		if err := emit(event); err != nil {
			return err
		}
	}
	return err
}

// batch is what one statement saw: events, and the oldest transaction that was
// running then.
type batch struct {
	events []Event
	xmin   uint64
	at     time.Time
}

// watermark knows how far the list is complete. Numbers are drawn by a
// transaction that has its id already, so once all that had one when id was the
// last number drawn have ended, no event up to id can appear any more.
//
// The xmax of a snapshot would not do for xid: it follows the last transaction
// that ended, and younger ones may be running and have drawn lower numbers.
type watermark struct {
	final int64
	id    int64
	xid   uint64
}

func (m *watermark) reached() bool { return m.final >= m.id }

// advance gives the highest id that may be handed out.
func (m *watermark) advance(b batch) int64 {
	if len(b.events) > 0 && b.xmin >= m.xid {
		m.final = max(m.final, m.id)
	}
	limit := m.final
	for _, event := range b.events {
		if b.at.Sub(event.CreatedAt) > patience {
			limit = max(limit, event.ID)
		}
	}
	return limit
}

// mark begins a new watermark: the last number drawn, then the id of a
// transaction that is younger than any that can have drawn up to it.
func (s *Stream) mark(ctx context.Context, final int64) (watermark, error) {
	m := watermark{final: final}
	err := s.Pool.QueryRow(ctx, `
		WITH drawn AS MATERIALIZED (SELECT last_value FROM session_event_ids)
		SELECT last_value, pg_current_xact_id()::text::bigint
		FROM drawn`).Scan(&m.id, &m.xid)
	if err != nil {
		return m, fmt.Errorf("read the last event number: %w", err)
	}
	return m, nil
}

func (s *Stream) read(ctx context.Context) (batch, error) {
	rows, err := s.Pool.Query(ctx, `
		SELECT pg_snapshot_xmin(snap.now)::text::bigint,
		       clock_timestamp(),
		       e.id, e.session_id, e.agent_id, e.type, e.payload, e.created_at
		FROM (SELECT pg_current_snapshot() AS now) snap
		CROSS JOIN LATERAL (
		    SELECT *
		    FROM session_events
		    WHERE agent_id = $1
		      AND ($2 = '' OR session_id = $2)
		      AND id > $3
		    ORDER BY id
		    LIMIT $4
		) e
		ORDER BY e.id`, s.AgentID, s.SessionID, s.After, batchSize)
	if err != nil {
		return batch{}, fmt.Errorf("read events: %w", err)
	}
	var b batch
	b.events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Event, err error) {
		err = row.Scan(&b.xmin, &b.at, &e.ID, &e.SessionID, &e.AgentID, &e.Type, &e.Payload, &e.CreatedAt)
		return e, err
	})
	if err != nil {
		return batch{}, fmt.Errorf("read events: %w", err)
	}
	return b, nil
}
