package approvals_test

import (
	"fmt"
	"sync"
	"testing"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

func (w *world) actor(id string) approvals.Actor {
	return approvals.Actor{UserID: id, Name: "Olga", Via: "chat"}
}

// await holds r for Olga.
func (w *world) await(r approvals.Request, action approvals.Action) approvals.Request {
	w.t.Helper()
	r, err := w.svc.Await(ctx, r.AgentID, r.ID, action, w.actor(w.olga))
	w.ok(err)
	if h := r.Held(); h == nil || h.By != w.olga || h.Action != action || h.Name != "Olga" || h.Via != "chat" {
		w.t.Fatalf("held as %+v", h)
	}
	return r
}

// due lets the time of a hold be over.
func (w *world) due(r approvals.Request) {
	w.t.Helper()
	w.exec(`UPDATE approval_requests SET hold = jsonb_set(hold, '{until}', to_jsonb(now())) WHERE id = $1`, r.ID)
}

func TestHoldKeepsOthersOut(t *testing.T) {
	w := newWorld(t)
	other := approvals.Actor{UserID: w.person("otto", "main", policy.Owner), Name: "Otto", Via: "chat"}
	r := w.await(w.ask(w.call(`{}`)), approvals.Reject)
	for name, who := range map[string]approvals.Actor{"another owner": other, "the operator": operator} {
		d := approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Actor: who}
		_, err := w.svc.Decide(ctx, d)
		e := refused(t, err, fault.Conflict, "reason_awaited")
		if data := e.Data.(map[string]any); data["heldBy"] != w.olga || data["heldName"] != "Olga" {
			t.Errorf("%s is told %v", name, data)
		}
		_, err = w.svc.Await(ctx, "main", r.ID, approvals.Reject, who)
		refused(t, err, fault.Conflict, "reason_awaited")
		_, err = w.svc.GiveReason(ctx, "main", r.ID, approvals.Reject, "mine", who)
		refused(t, err, fault.Conflict, "reason_awaited")
		if got, err := w.svc.DropHold(ctx, "main", r.ID, who); err != nil || got.Held() == nil {
			t.Errorf("%s dropped a hold of somebody else: %v", name, err)
		}
	}
	r, err := w.svc.GiveReason(ctx, "main", r.ID, approvals.Reject, "not today", w.actor(w.olga))
	w.ok(err)
	if r.Status != approvals.Rejected || *r.Reason != "not today" || r.Hold != nil {
		t.Errorf("decided as %+v", r)
	}
}

func TestAHoldIsForOwnersOfAnOpenRequest(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	_, err := w.svc.Await(ctx, "main", r.ID, approvals.Reject, w.actor(w.person("eve", "main", policy.User)))
	refused(t, err, fault.Forbidden, "not_a_reviewer")
	_, err = w.svc.Await(ctx, "main", r.ID, approvals.Back, w.actor(w.olga))
	refused(t, err, fault.Invalid, "invalid")
	_, err = w.svc.Await(ctx, "other", r.ID, approvals.Reject, w.actor(w.olga))
	refused(t, err, fault.NotFound, "not_found")
	w.overdue(r)
	_, err = w.svc.Await(ctx, "main", r.ID, approvals.Reject, w.actor(w.olga))
	refused(t, err, fault.Gone, "expired")
	r = w.reject(w.ask(w.call(`{"b":1}`)))
	_, err = w.svc.Await(ctx, "main", r.ID, approvals.Reject, w.actor(w.olga))
	refused(t, err, fault.Conflict, "already_decided")
}

func TestAwaitingAgainChangesNothing(t *testing.T) {
	w := newWorld(t)
	first := w.await(w.ask(w.call(`{}`)), approvals.Reject)
	again := w.await(first, approvals.Reject)
	if again.Version != first.Version || !again.Hold.Until.Equal(first.Hold.Until) {
		t.Errorf("first %+v, then %+v", first.Hold, again.Hold)
	}
	// Another decision begins anew, and its reason is no reason for the first.
	w.await(first, approvals.ApproveCall)
	_, err := w.svc.GiveReason(ctx, "main", first.ID, approvals.Reject, "x", w.actor(w.olga))
	refused(t, err, fault.Conflict, "reason_not_awaited")
	r, err := w.svc.GiveReason(ctx, "main", first.ID, approvals.ApproveCall, "I checked", w.actor(w.olga))
	w.ok(err)
	if r.Status != approvals.Approved || *r.Resolution != policy.Single || *r.Reason != "I checked" {
		t.Errorf("decided as %+v", r)
	}
}

func TestTheHolderMayDecideOtherwise(t *testing.T) {
	w := newWorld(t)
	r := w.await(w.ask(w.call(`{}`)), approvals.Reject)
	if r = w.approve(r, policy.Once); r.Status != approvals.Approved || r.Hold != nil {
		t.Errorf("decided as %+v", r)
	}
	_, err := w.svc.GiveReason(ctx, "main", r.ID, approvals.Reject, "late", w.actor(w.olga))
	refused(t, err, fault.Conflict, "already_decided")
}

func TestAHoldThatIsOver(t *testing.T) {
	for name, look := range map[string]func(w *world, r approvals.Request) error{
		"by its job": func(w *world, r approvals.Request) error {
			_, err := w.svc.EndHold(ctx, r.ID)
			if err == nil {
				_, err = w.svc.EndHold(ctx, r.ID) // twice is once
			}
			return err
		},
		"by a repair": func(w *world, _ approvals.Request) error {
			return (&approvals.ReconcileWorker{Service: w.svc}).Work(ctx, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			rejected := w.await(w.ask(w.call(`{}`)), approvals.Reject)
			w.ok(look(w, rejected)) // not over yet
			if r := w.get(rejected.ID); r.Held() == nil {
				t.Fatal("the hold ended before its time")
			}
			w.due(rejected)
			w.ok(look(w, rejected))
			r := w.get(rejected.ID)
			if r.Status != approvals.Rejected || *r.ResolvedBy != w.olga || *r.ResolvedVia != "chat" || r.Reason != nil || r.Hold != nil {
				t.Errorf("it became %+v", r)
			}
			if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_resolved'`); n != 1 {
				t.Errorf("%d events", n)
			}
			open := w.await(w.ask(w.call(`{"b":1}`)), approvals.ApproveCall)
			w.due(open)
			w.ok(look(w, open))
			if r := w.get(open.ID); r.Status != approvals.Pending || r.Hold != nil {
				t.Errorf("an approval without its reason became %+v", r)
			}
		})
	}
}

func TestOthersFindAHoldThatIsOver(t *testing.T) {
	w := newWorld(t)
	r := w.await(w.ask(w.call(`{}`)), approvals.Reject)
	w.due(r)
	_, err := w.svc.Decide(ctx, approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Actor: operator})
	refused(t, err, fault.Conflict, "already_decided")
	if r = w.get(r.ID); r.Status != approvals.Rejected || *r.ResolvedBy != w.olga {
		t.Errorf("it became %+v", r)
	}
	r = w.await(w.ask(w.call(`{"b":1}`)), approvals.ApproveCall)
	w.due(r)
	_, err = w.svc.Decide(ctx, approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Actor: operator})
	w.ok(err)
}

func TestTheDeadlineOutranksAHold(t *testing.T) {
	w := newWorld(t)
	r := w.await(w.ask(w.call(`{}`)), approvals.Reject)
	w.overdue(r)
	w.due(r)
	if _, err := w.svc.EndHold(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	_, err := w.svc.GiveReason(ctx, "main", r.ID, approvals.Reject, "late", w.actor(w.olga))
	refused(t, err, fault.Gone, "expired")
	if r = w.get(r.ID); r.Status != approvals.Expired || r.Held() != nil {
		t.Errorf("it became %+v", r)
	}
}

func TestHoldsAndDecisionsRace(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	var wg sync.WaitGroup
	for n := range 12 {
		who := approvals.Actor{UserID: w.person(fmt.Sprint("owner", n), "main", policy.Owner), Name: fmt.Sprint(n), Via: "chat"}
		wg.Go(func() {
			_, err := w.svc.Await(ctx, "main", r.ID, approvals.Reject, who)
			if err == nil {
				_, err = w.svc.GiveReason(ctx, "main", r.ID, approvals.Reject, who.Name, who)
				if err != nil {
					t.Errorf("a holder could not decide: %v", err)
				}
			} else if f, ok := fault.As(err); !ok || f.Kind != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r = w.get(r.ID); r.Status != approvals.Rejected || *r.Reason != *r.ResolvedName {
		t.Errorf("it became %+v", r)
	}
}
