package session_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/internal/session"
)

func TestAStreamResumesAfterAnyEvent(t *testing.T) {
	w := newWorld(t)
	var ids []int64
	for i := range 6 {
		ids = append(ids, w.put("s1", fmt.Sprint(i)))
	}
	for i, after := range append([]int64{0}, ids[:5]...) {
		if diff := cmp.Diff(ids[i:], w.read("s1", after).ids(len(ids)-i)); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", after, diff)
		}
	}
}

func TestAStreamGivesEventsAsTheyAreCommitted(t *testing.T) {
	w := newWorld(t)
	r := w.read("s1", 0)
	for i := range 3 {
		id := w.put("s1", fmt.Sprint("event ", i))
		got := r.ids(i + 1)
		if got[i] != id {
			t.Fatalf("read %v, want %d last", got, id)
		}
		e := r.events()[i]
		if e.Type != "note" || e.SessionID != "s1" || text(t, e.Payload) != fmt.Sprint("event ", i) || e.CreatedAt.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
}

func TestAStreamSeesItsSessionOrItsAgentAlone(t *testing.T) {
	w := newWorld(t)
	first, second := w.put("s1", "a"), w.put("s2", "b")
	w.exec(`INSERT INTO session_events (id, session_id, agent_id, type, payload)
		VALUES (nextval('session_event_ids'), 'o1', 'other', 'note', '"theirs"')`)
	third := w.put("s1", "c")

	if diff := cmp.Diff([]int64{first, third}, w.read("s1", 0).ids(2)); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	all := w.read("", 0)
	if diff := cmp.Diff([]int64{first, second, third}, all.ids(3)); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	foreign := w.read("o1", 0)
	foreign.heartbeats(2)
	if got := foreign.events(); len(got) != 0 {
		t.Errorf("agent main reads a session of another: %v", got)
	}
}

// More than two of a stream's batches.
func TestALongListIsReadWhole(t *testing.T) {
	const n = 1203
	w := newWorld(t)
	tx := w.begin()
	for range n {
		w.add(tx, "s1", "x")
	}
	w.commit(tx)
	ids := w.read("s1", 0).ids(n)
	for i, id := range ids[1:] {
		if id != ids[i]+1 {
			t.Fatalf("%d follows %d", id, ids[i])
		}
	}
	if len(ids) != n {
		t.Errorf("%d events, want %d", len(ids), n)
	}
}

func TestFailuresOfTheReaderEndTheStream(t *testing.T) {
	w := newWorld(t)
	gone := errors.New("the client is gone")
	quiet := &session.Stream{Pool: w.pool, Hub: w.hub, AgentID: "main", SessionID: "s2",
		IdleEvery: time.Millisecond, Idle: func() error { return gone }}
	if err := quiet.Run(t.Context(), func(session.Event) error { return nil }); !errors.Is(err, gone) {
		t.Errorf("a failing heartbeat: %v", err)
	}
	w.put("s1", "a")
	busy := &session.Stream{Pool: w.pool, Hub: w.hub, AgentID: "main", SessionID: "s1",
		IdleEvery: time.Minute, Idle: func() error { return nil }}
	if err := busy.Run(t.Context(), func(session.Event) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("a failing reader: %v", err)
	}
}
