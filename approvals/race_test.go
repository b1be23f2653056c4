package approvals_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

func TestOfTwentyDecidersOneWinsAndTheOthersAreToldOfIt(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	start := make(chan struct{})
	var mu sync.Mutex
	var winner *approvals.Request
	var refusals []*fault.Error
	var wg sync.WaitGroup
	for n := range 20 {
		owner := approvals.Actor{UserID: w.person(fmt.Sprint("owner", n), "main", policy.Owner), Name: fmt.Sprint("Owner ", n), Via: "chat"}
		d := approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: n%2 == 0, Resolution: policy.Once, Actor: owner}
		wg.Go(func() {
			<-start
			got, err := w.svc.Decide(ctx, d)
			mu.Lock()
			defer mu.Unlock()
			if e, ok := fault.As(err); ok {
				refusals = append(refusals, e)
			} else if err != nil || winner != nil {
				t.Errorf("a second winner %v, or error %v", winner, err)
			} else {
				winner = &got
			}
		})
	}
	close(start)
	wg.Wait()
	if winner == nil || len(refusals) != 19 {
		t.Fatalf("winner %v, %d refusals", winner, len(refusals))
	}
	for _, e := range refusals {
		data := e.Data.(map[string]any)
		if e.Code != "already_decided" || data["decision"] != winner.Status || data["resolvedBy"] != *winner.ResolvedBy ||
			data["resolvedName"] != *winner.ResolvedName || !data["resolvedAt"].(*time.Time).Equal(*winner.ResolvedAt) {
			t.Errorf("a loser is told %s %v, the winner is %s", e.Code, data, *winner.ResolvedName)
		}
	}
	grants := w.count(`SELECT count(*) FROM approval_grants`)
	events := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_resolved'`)
	if want := map[bool]int{true: 1}[winner.Status == approvals.Approved]; grants != want || events != 1 {
		t.Errorf("%d grants, want %d; %d events, want 1", grants, want, events)
	}
}

// The deadline is the database's: one side of it decides, the other is too
// late, whatever the clock of this process says.
func TestADecisionAtTheDeadline(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		r := w.ask(w.call(fmt.Sprintf(`{"n":%d}`, i)))
		offset := time.Duration(i%5-2) * time.Millisecond / 2
		w.exec(`UPDATE approval_requests SET expires_at = clock_timestamp() + interval '2 milliseconds' + $2 WHERE id = $1`, r.ID, offset)
		_, err := w.svc.Decide(ctx, w.answer(r, true, policy.Single))
		got := w.get(r.ID)
		if err != nil {
			refused(t, err, fault.Gone, "expired")
		}
		if (err == nil) != (got.Status == approvals.Approved) || (err != nil) != (got.Status == approvals.Expired) {
			t.Errorf("error %v, and the request is %s", err, got.Status)
		}
		// A statement takes its clock twice, some microseconds apart.
		if err == nil && got.ResolvedAt.Sub(got.ExpiresAt) > time.Millisecond {
			t.Errorf("approved %v after the deadline", got.ResolvedAt.Sub(got.ExpiresAt))
		}
	}
}

func TestJustBeforeAndJustAfterTheDeadline(t *testing.T) {
	w := newWorld(t)
	late := w.ask(w.call(`{"n":1}`))
	w.exec(`UPDATE approval_requests SET expires_at = clock_timestamp() - interval '1 millisecond' WHERE id = $1`, late.ID)
	got, err := w.svc.Decide(ctx, w.answer(late, true, policy.Single))
	refused(t, err, fault.Gone, "expired")
	if got.Status != approvals.Expired || w.get(late.ID).Status != approvals.Expired {
		t.Errorf("the request is %s", got.Status)
	}
	if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_resolved' AND payload ->> 'decision' = 'expired'`); n != 1 {
		t.Errorf("%d events of the expiry", n)
	}
	early := w.ask(w.call(`{"n":2}`))
	if got, err := w.svc.Expire(ctx, early.ID); err != nil || got.Status != approvals.Pending {
		t.Errorf("expired before its deadline: %s, error %v", got.Status, err)
	}
}

// Deciders and expirers at the deadline: one of them has it, and all agree.
func TestDecisionsRaceExpiry(t *testing.T) {
	w := newWorld(t)
	for i := range 15 {
		r := w.ask(w.call(fmt.Sprintf(`{"n":%d}`, i)))
		w.exec(`UPDATE approval_requests SET expires_at = clock_timestamp() + interval '3 milliseconds' WHERE id = $1`, r.ID)
		var decided atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				_, err := w.svc.Decide(ctx, w.answer(r, true, policy.Once))
				if err == nil {
					decided.Add(1)
				} else if !fault.Is(err, "expired") && !fault.Is(err, "already_decided") {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := w.svc.Expire(ctx, r.ID); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got := w.get(r.ID)
		if got.Status == approvals.Pending {
			continue // the deadline has not come: nothing was decided either
		}
		if want := map[approvals.Status]int64{approvals.Approved: 1}[got.Status]; decided.Load() != want {
			t.Errorf("%s, and %d were told that they decided", got.Status, decided.Load())
		}
		if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_resolved' AND payload ->> 'requestId' = $1`, r.ID); n != 1 {
			t.Errorf("%d events of the end", n)
		}
	}
}

func TestConcurrentClaimsOfOneApproval(t *testing.T) {
	w := newWorld(t)
	for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
		r := w.approve(w.ask(w.call(`{"for":"`+string(resolution)+`"}`)), resolution)
		_, other := w.process()
		var claimed atomic.Int64
		var wg sync.WaitGroup
		for n := range 20 {
			svc := []*approvals.Service{w.svc, other}[n%2]
			wg.Go(func() {
				_, ok, err := svc.Claim(ctx, r, callOf(r))
				if ok {
					claimed.Add(1)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		uses := w.count(`SELECT uses FROM approval_grants WHERE request_id = $1`, r.ID)
		if claimed.Load() != 1 || uses != 1 {
			t.Errorf("%s: claimed %d times, %d uses counted; want once", resolution, claimed.Load(), uses)
		}
	}
}

func TestConcurrentReleasesGiveOneUseBack(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{}`)), policy.Single)
	if !w.claims(r) {
		t.Fatal("not claimed")
	}
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = w.svc.Release(ctx, r.ID) })
	}
	wg.Wait()
	w.ok(errors.Join(errs...))
	if left := w.count(`SELECT uses_left FROM approval_grants`); left != 1 {
		t.Errorf("%d uses left, want 1", left)
	}
	if !w.claims(r) || w.claims(r) {
		t.Error("want one claim after the release")
	}
}

// Of a window that calls of two processes use at once each use is counted, whatever
// else happens: the call that was asked about runs once, and what is shown is true.
func TestConcurrentUsesOfAWindowAreAllCounted(t *testing.T) {
	w := newWorld(t)
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource})
	r := w.approve(w.ask(w.call(`{"n":0}`, resource)), policy.Once)
	_, other := w.process()
	var through atomic.Int64
	var wg sync.WaitGroup
	for n := range 20 {
		svc, call := []*approvals.Service{w.svc, other}[n%2], w.call(fmt.Sprintf(`{"n":%d}`, n+1), resource)
		wg.Go(func() {
			_, claimed, err := svc.Claim(ctx, r, callOf(r))
			if claimed {
				through.Add(1)
			}
			_, ok, useErr := svc.UseWindow(ctx, call)
			if ok {
				through.Add(1)
			}
			if err := errors.Join(err, useErr); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list := w.grants(); through.Load() != 21 || len(list) != 1 || list[0].Uses != 21 {
		t.Errorf("%d were let through, want 21; shown: %+v", through.Load(), list)
	}
}
