package approvals_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

// events gives what was told in a session, in its order.
func (w *world) events(session string) []string {
	w.t.Helper()
	return w.column(`
		SELECT type || ' ' || (payload ->> 'shortId') || COALESCE(' ' || (payload ->> 'decision'), '') || COALESCE(' ' || (payload ->> 'outcome'), '')
		FROM session_events WHERE session_id = $1 ORDER BY id`, session)
}

// thrice is one call asked for from three sessions.
func (w *world) thrice() (q, second, third approvals.Request) {
	w.t.Helper()
	return w.ask(w.call(`{}`, inSession("s1"))), w.ask(w.call(`{}`, inSession("s2"))), w.ask(w.call(`{}`, inSession("s3")))
}

func TestAnIdenticalAskFromAnotherSessionSharesTheQuestion(t *testing.T) {
	w := newWorld(t)
	q, second, third := w.thrice()
	for _, r := range []approvals.Request{second, third} {
		if r.DuplicateOf == nil || *r.DuplicateOf != q.ID || !r.ExpiresAt.Equal(q.ExpiresAt) {
			t.Errorf("request %+v is no duplicate of %s", r, q.ID)
		}
	}
	if again := w.ask(w.call(`{}`, inSession("s2"))); again.ID != second.ID {
		t.Errorf("a retry of the same session is request %d, want %d", again.ShortID, second.ShortID)
	}
	if again := w.ask(w.call(`{}`, inSession("s1"))); again.ID != q.ID || again.Asked != 3 {
		t.Errorf("the question is %+v", again)
	}
	if n := w.count(`SELECT count(*) FROM card_deliveries`); n != 1 {
		t.Errorf("%d cards, want one", n)
	}
	if n := w.count(`SELECT count(*) FROM river.river_job WHERE kind = 'approval_update_card'`); n != 2 {
		t.Errorf("%d edits, want one for each further ask", n)
	}
	wires, err := approvals.OnWire(ctx, w.pool, w.get(second.ID))
	w.ok(err)
	if wires[0].DuplicateOfNumber != q.ShortID || len(wires[0].Deliveries) != 1 {
		t.Errorf("on the wire: %+v", wires[0])
	}
}

// One answer ends all, each in its own session, and one execution is all there is.
func TestOneAnswerIsForAllWhoAsked(t *testing.T) {
	for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
		t.Run(string(resolution), func(t *testing.T) {
			w := newWorld(t)
			q, second, third := w.thrice()
			waiter := w.hub.Wait(approvals.Key(third.ID))
			defer waiter.Close()
			// By the number of a duplicate its question is answered.
			if got := w.approve(second, resolution); got.ID != q.ID {
				t.Errorf("answered %d", got.ShortID)
			}
			select {
			case <-waiter.C:
			default:
				t.Error("who waits for a duplicate was not woken")
			}
			for _, r := range []approvals.Request{second, third} {
				if w.claims(r) {
					t.Errorf("duplicate %d can be claimed by itself", r.ShortID)
				}
				now, err := w.svc.Current(ctx, r.ID)
				if w.ok(err); now.ID != q.ID {
					t.Errorf("after the approval %d stands for %d", r.ShortID, now.ShortID)
				}
				if w.get(r.ID).Status != approvals.Approved {
					t.Errorf("duplicate %d is %s", r.ShortID, w.get(r.ID).Status)
				}
			}
			if n := w.count(`SELECT count(*) FROM approval_grants WHERE uses_left IS NOT NULL OR valid_until IS NOT NULL`); n != 1 {
				t.Errorf("%d grants, want one", n)
			}
			if !w.claims(q) || w.claims(q) {
				t.Error("want exactly one claim")
			}
			w.ok(w.svc.Finish(ctx, q.ID, approvals.Succeeded, []byte(`1`)))
			for n, session := range []string{"s1", "s2", "s3"} {
				want := []string{fmt.Sprint("approval_requested ", n+1), fmt.Sprintf("approval_resolved %d approved", n+1), fmt.Sprintf("approval_executed %d succeeded", n+1)}
				if diff := cmp.Diff(want, w.events(session)); diff != "" {
					t.Errorf("session %s (-want +got):\n%s", session, diff)
				}
			}
			wires, err := approvals.OnWire(ctx, w.pool, w.get(third.ID))
			if w.ok(err); wires[0].Outcome == nil || *wires[0].Outcome != approvals.Succeeded {
				t.Errorf("the outcome of a duplicate is %v", wires[0].Outcome)
			}
			if resolution == policy.Single {
				for _, session := range []string{"s1", "s2", "s4"} {
					if got := w.ask(w.call(`{}`, inSession(session))); got.ID != q.ID {
						t.Errorf("a retry in %s is request %d, want the result of %d", session, got.ShortID, q.ShortID)
					}
				}
			}
		})
	}
}

// Nobody is left behind by the end of a question, and each session hears of it once.
func TestTheEndOfAQuestionEndsItsDuplicates(t *testing.T) {
	for name, end := range map[string]struct {
		do   func(*world, approvals.Request)
		want approvals.Status
	}{
		"rejected": {func(w *world, q approvals.Request) { w.reject(q) }, approvals.Rejected},
		"cancelled": {func(w *world, q approvals.Request) {
			_, err := w.svc.Cancel(ctx, taken(q, user("agent:main")))
			w.ok(err)
		}, approvals.Cancelled},
		"expired": {func(w *world, q approvals.Request) { w.overdue(q); w.reconcile() }, approvals.Expired},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			q, second, third := w.thrice()
			end.do(w, q)
			for _, r := range []approvals.Request{q, second, third} {
				now := w.get(r.ID)
				if now.Status != end.want || now.ResolvedAt == nil || !now.ResolvedAt.Equal(*w.get(q.ID).ResolvedAt) {
					t.Errorf("request %d is %s at %v", r.ShortID, now.Status, now.ResolvedAt)
				}
				if diff := cmp.Diff([]string{fmt.Sprint("approval_requested ", r.ShortID), fmt.Sprintf("approval_resolved %d %s", r.ShortID, end.want)}, w.events(r.SessionID)); diff != "" {
					t.Errorf("session %s (-want +got):\n%s", r.SessionID, diff)
				}
				if got := w.ask(w.call(`{}`, inSession(r.SessionID))); got.ID != r.ID {
					t.Errorf("a retry in %s is told of request %d", r.SessionID, got.ShortID)
				}
				w.ok(w.svc.Told(ctx, r.ID))
			}
			again := w.ask(w.call(`{}`, inSession("s3")))
			if cooling := name == "rejected"; (again.ID == third.ID) != cooling || !cooling && (again.Status != approvals.Pending || again.DuplicateOf != nil) {
				t.Errorf("asked again: %+v", again)
			}
		})
	}
}

func TestADuplicateIsTakenBackAlone(t *testing.T) {
	w := newWorld(t)
	q, second, third := w.thrice()
	if _, err := w.svc.Cancel(ctx, taken(second, user("agent:main"))); err != nil {
		t.Fatal(err)
	}
	_, err := w.svc.Decide(ctx, w.answer(second, true, policy.Single))
	refused(t, err, fault.Conflict, "already_decided")
	if a, b, c := w.get(q.ID), w.get(second.ID).Status, w.get(third.ID).Status; a.Status != approvals.Pending || a.Asked != 2 || b != approvals.Cancelled || c != approvals.Pending {
		t.Errorf("question %+v, second %s, third %s", a, b, c)
	}
	if got := w.ask(w.call(`{}`, inSession("s2"))); got.ID != second.ID {
		t.Errorf("a retry in s2 is told of %d", got.ShortID)
	}
	w.ok(w.svc.Told(ctx, second.ID))
	if got := w.ask(w.call(`{}`, inSession("s2"))); got.DuplicateOf == nil || got.Status != approvals.Pending || w.get(q.ID).Asked != 3 {
		t.Errorf("asked again: %+v", got)
	}
}

// A late ask finds the question or its answer, and never a question that nobody
// will answer.
func TestAsksAndAnAnswerAtOnce(t *testing.T) {
	w := newWorld(t)
	for round := range 5 {
		args := fmt.Sprintf(`{"round":%d}`, round)
		q := w.ask(w.call(args))
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				if _, err := w.svc.Ask(ctx, w.call(args, inSession(fmt.Sprint("s of ", n)))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if _, err := w.svc.Decide(ctx, w.answer(q, true, policy.Single)); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if n := w.count(`SELECT count(*) FROM approval_requests WHERE status = 'pending'`); n != 0 {
			t.Fatalf("round %d: %d requests were left behind", round, n)
		}
		now := w.get(q.ID)
		if n := w.count(`SELECT count(*) FROM approval_requests WHERE duplicate_of = $1`, q.ID); n != now.Asked-1 {
			t.Fatalf("round %d: asked %d times, %d duplicates", round, now.Asked, n)
		}
	}
}

func TestADuplicateHasNeitherClaimNorShares(t *testing.T) {
	w := newWorld(t)
	_, second, _ := w.thrice()
	for _, set := range []string{`asked = 2`, `status = 'approved', resolution = 'single', resolved_at = now(), claimed_at = now()`} {
		if _, err := w.pool.Exec(ctx, `UPDATE approval_requests SET `+set+` WHERE id = $1`, second.ID); err == nil {
			t.Errorf("%s: stored", set)
		}
	}
}

func TestAListShowsAQuestionForAllThatShareIt(t *testing.T) {
	w := newWorld(t)
	q, second, third := w.thrice()
	list := func(f approvals.Filter) (numbers []int) {
		t.Helper()
		all, err := approvals.List(ctx, w.pool, "main", f)
		w.ok(err)
		for _, r := range all {
			numbers = append(numbers, r.ShortID)
			if r.ID == q.ID && r.Asked != 3 {
				t.Errorf("asked %d times", r.Asked)
			}
		}
		return numbers
	}
	for name, c := range map[string]struct {
		filter approvals.Filter
		want   []int
	}{
		"all":        {approvals.Filter{}, []int{q.ShortID}},
		"pending":    {approvals.Filter{Status: approvals.Pending, ReviewerID: w.olga, Limit: 1}, []int{q.ShortID}},
		"duplicates": {approvals.Filter{Duplicates: true}, []int{third.ShortID, second.ShortID, q.ShortID}},
	} {
		if diff := cmp.Diff(c.want, list(c.filter)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
