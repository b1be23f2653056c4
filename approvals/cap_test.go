package approvals_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"holm/approvals"
	"holm/internal/fault"
)

// capped is a world whose service has these caps.
func (w *world) capped(session, requester int) {
	w.svc.MaxOpenPerSession, w.svc.MaxOpenPerRequester = session, requester
}

func TestNoMoreOpenRequestsThanTheCaps(t *testing.T) {
	w := newWorld(t)
	w.capped(2, 3)
	ask := func(n int, session string) (approvals.Request, error) {
		return w.svc.Ask(ctx, w.call(fmt.Sprintf(`{"n":%d}`, n), inSession(session)))
	}
	must := func(n int, session string) approvals.Request {
		t.Helper()
		r, err := ask(n, session)
		w.ok(err)
		return r
	}
	first := must(1, "s1")
	must(2, "s1")
	_, err := ask(3, "s1")
	if e := refused(t, err, fault.Exhausted, "capped"); e.Data.(map[string]any)["scope"] != "session" || !approvals.IsCapped(err) {
		t.Errorf("told %+v", e)
	}
	if again := must(1, "s1"); again.ID != first.ID {
		t.Error("a retry does not attach any more")
	}
	must(3, "s2")
	for _, n := range []int{4, 1} { // a further question, and a further ask for an open one
		_, err = ask(n, "s2")
		if e := refused(t, err, fault.Exhausted, "capped"); e.Data.(map[string]any)["scope"] != "requester" {
			t.Errorf("told %+v", e)
		}
	}
	if w.get(first.ID).Asked != 1 {
		t.Error("an ask that was refused is counted on the card")
	}
	if _, err := w.svc.Ask(ctx, w.call(`{"n":9}`, by("u9"))); err != nil {
		t.Errorf("another requester: %v", err)
	}

	if n := w.count(`SELECT count(*) FROM approval_requests WHERE requester_id = 'agent:main'`); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if n := w.count(`SELECT last_value FROM pg_sequences WHERE sequencename = md5('main')`); n != 4 {
		t.Errorf("number %d, want 4: refused asks use none up", n)
	}
	records := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'approval_capped' AND actor = 'agent:main'`)
	events := w.count(`SELECT count(*) FROM session_events WHERE type <> 'approval_requested'`)
	if records != 3 || events != 0 {
		t.Errorf("%d records and %d events of refused asks", records, events)
	}

	// What has ended, or will not be answered any more, makes room.
	w.reject(first)
	w.overdue(must(3, "s2"))
	must(5, "s1")
	must(6, "s2")
}

func TestTheCapsHoldAgainstManyAsksAtOnce(t *testing.T) {
	w := newWorld(t)
	w.capped(4, 6)
	_, other := w.process()
	other.MaxOpenPerSession, other.MaxOpenPerRequester = 4, 6
	var made, refusals atomic.Int32
	var wg sync.WaitGroup
	for n := range 40 {
		svc := w.svc
		if n%2 == 1 {
			svc = other
		}
		wg.Go(func() {
			_, err := svc.Ask(ctx, w.call(fmt.Sprintf(`{"n":%d}`, n/2), inSession(fmt.Sprint("s", n%3))))
			switch {
			case err == nil:
				made.Add(1)
			case approvals.IsCapped(err):
				refusals.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() < 6 || made.Load()+refusals.Load() != 40 {
		t.Errorf("%d made, %d refused", made.Load(), refusals.Load())
	}
	if n := w.count(`SELECT count(*) FROM approval_requests`); n != 6 {
		t.Errorf("%d open, want the 6 that one requester may have", n)
	}
	if n := w.count(`SELECT max(n) FROM (SELECT count(*) n FROM approval_requests GROUP BY session_id) x`); n > 4 {
		t.Errorf("%d open in one session", n)
	}
}
