package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/internal/session"
)

// The lower number belongs to the younger transaction, which is still running
// when the older one commits the higher number.
func TestAYoungerTransactionWithALowerNumberIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	older, younger := w.begin(), w.begin()
	if _, err := older.Exec(t.Context(), `SELECT pg_current_xact_id()`); err != nil {
		t.Fatal(err)
	}
	low := w.add(younger, "s1", "low")
	high := w.add(older, "s1", "high")
	if low >= high {
		t.Fatalf("numbers %d, %d were drawn in another order", low, high)
	}
	r := w.read("s1", 0)
	w.commit(older)
	r.heartbeats(3)
	if got := r.events(); len(got) != 0 {
		t.Fatalf("event %d was handed out while %d could still appear", got[0].ID, low)
	}
	w.commit(younger)
	if diff := cmp.Diff([]int64{low, high}, r.ids(2)); diff != "" {
		t.Error(diff)
	}
}

func TestAnOlderTransactionWithALowerNumberIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	slow := w.begin()
	low := w.add(slow, "s1", "low")
	high := w.put("s1", "high")
	r := w.read("s1", 0)
	r.heartbeats(3)
	if got := r.events(); len(got) != 0 {
		t.Fatalf("event %d was handed out while %d could still appear", got[0].ID, low)
	}
	if err := slow.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{high}, r.ids(1)); diff != "" {
		t.Error(diff)
	}
}

// Whoever reads once has all that is committed, also what a transaction held
// back at first.
func TestReadingOnceWaitsForWhatIsHeldBack(t *testing.T) {
	w := newWorld(t)
	slow := w.begin()
	low := w.add(slow, "s1", "low")
	high := w.put("s1", "high")
	ended := false
	s := &session.Stream{
		Pool: w.pool, Hub: w.hub, AgentID: "main", SessionID: "s1", Once: true, IdleEvery: 20 * time.Millisecond,
		Idle: func() error {
			if !ended {
				w.commit(slow)
			}
			ended = true
			return nil
		},
	}
	var got []int64
	err := s.Run(t.Context(), func(e session.Event) error {
		got = append(got, e.ID)
		return nil
	})
	if err != nil || !ended {
		t.Errorf("Run: %v, ended before what it had to wait for: %v", err, !ended)
	}
	if diff := cmp.Diff([]int64{low, high}, got); diff != "" {
		t.Error(diff)
	}
}

// A transaction that runs for longer than Holm's ever do holds nothing back
// for good: what is old by then is handed out.
func TestAStuckTransactionIsNotWaitedForForEver(t *testing.T) {
	w := newWorld(t)
	stuck := w.begin()
	if _, err := stuck.Exec(t.Context(), `SELECT pg_current_xact_id()`); err != nil {
		t.Fatal(err)
	}
	id := w.put("s1", "old")
	w.exec(`UPDATE session_events SET created_at = now() - interval '1 minute'`)
	if diff := cmp.Diff([]int64{id}, w.read("s1", 0).ids(1)); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentWritersLeaveNoGaps(t *testing.T) {
	const writers, each = 16, 40
	w := newWorld(t)
	one, all := w.read("s1", 0), w.read("", 0)
	var mu sync.Mutex
	committed := map[string][]int64{}
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 1))
			for i := range each {
				id, sessionID, kept := w.writeOddly(rnd, fmt.Sprint(n, "/", i))
				if kept {
					mu.Lock()
					committed[sessionID] = append(committed[sessionID], id)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	every := slices.Concat(committed["s1"], committed["s2"])
	slices.Sort(every)
	slices.Sort(committed["s1"])
	if diff := cmp.Diff(committed["s1"], one.ids(len(committed["s1"]))); diff != "" {
		t.Errorf("one session (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(every, all.ids(len(every))); diff != "" {
		t.Errorf("all sessions (-written +read):\n%s", diff)
	}
	if len(every) == writers*each || len(every) == 0 {
		t.Errorf("%d of %d committed: the test has lost its rollbacks", len(every), writers*each)
	}
}

// writeOddly appends in a transaction that may take its id early, may linger
// and may roll back.
func (w *world) writeOddly(rnd *rand.Rand, payload string) (id int64, sessionID string, kept bool) {
	ctx := context.Background()
	sessionID = []string{"s1", "s2"}[rnd.IntN(2)]
	kept = rnd.IntN(4) > 0
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		w.t.Error(err)
		return 0, "", false
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if rnd.IntN(2) == 0 {
		linger(ctx, tx, rnd, `SELECT pg_current_xact_id(), pg_sleep($1)`)
	}
	if id, err = session.Append(ctx, tx, "main", sessionID, "note", payload); err != nil {
		w.t.Error(err)
		return 0, "", false
	}
	linger(ctx, tx, rnd, `SELECT pg_sleep($1)`)
	if !kept {
		return id, sessionID, false
	}
	if err := tx.Commit(ctx); err != nil {
		w.t.Error(err)
		return 0, "", false
	}
	w.hub.Publish(session.Keys("main", sessionID)...)
	return id, sessionID, true
}

// linger makes the interleaving vary; nothing waits for it.
func linger(ctx context.Context, tx pgx.Tx, rnd *rand.Rand, sql string) {
	_, _ = tx.Exec(ctx, sql, (time.Duration(rnd.IntN(4000)) * time.Microsecond).Seconds())
}
