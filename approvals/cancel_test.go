package approvals_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

// taken is a cancellation of r by somebody.
func taken(r approvals.Request, by approvals.Actor) approvals.Cancellation {
	return approvals.Cancellation{AgentID: r.AgentID, RequestID: r.ID, Actor: by}
}

func user(id string) approvals.Actor { return approvals.Actor{UserID: id, Name: id, Via: "chat"} }

func TestWhoMayCancel(t *testing.T) {
	w := newWorld(t)
	gus := w.person("gus", "main", policy.User)
	w.agent("other")
	boss := w.person("boss", "other", policy.Owner)
	w.exec(`INSERT INTO users (id, name, merged_into) VALUES ('gus before', 'Gus', $1)`, gus)

	for name, c := range map[string]struct {
		asks  string
		actor approvals.Actor
		may   bool
	}{
		"the operator":                   {gus, operator, true},
		"an owner":                       {gus, user(w.olga), true},
		"the requester":                  {gus, user(gus), true},
		"the requester before a merge":   {"gus before", user(gus), true},
		"the requester after a merge":    {gus, user("gus before"), true},
		"the agent itself":               {"agent:main", user("agent:main"), true},
		"the agent, what a person asked": {gus, user("agent:main"), false},
		"a person, what the agent asked": {"agent:main", user(gus), false},
		"another agent":                  {"agent:main", user("agent:other"), false},
		"an owner of another agent":      {gus, user(boss), false},
		"a stranger":                     {gus, user("nobody"), false},
		"nobody at all":                  {gus, approvals.Actor{}, false},
	} {
		r := w.ask(w.call(`{"case":"`+name+`"}`, by(c.asks)))
		got, err := w.svc.Cancel(ctx, taken(r, c.actor))
		if !c.may {
			refused(t, err, fault.NotFound, "not_found")
			if w.get(r.ID).Status != approvals.Pending {
				t.Errorf("%s: the request has moved", name)
			}
			continue
		}
		if err != nil || got.Status != approvals.Cancelled || *got.ResolvedBy != c.actor.ID() {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// One transaction tells all of it, and nothing is told twice.
func TestACancelledRequest(t *testing.T) {
	w := newWorld(t)
	gus := w.person("gus", "main", policy.User)
	r := w.ask(w.call(`{}`, by(gus)))
	waiter := w.hub.Wait(approvals.Key(r.ID))
	defer waiter.Close()
	c := taken(r, user(gus))
	c.Reason = "asked by mistake"
	if _, err := w.svc.Cancel(ctx, c); err != nil {
		t.Fatal(err)
	}
	select {
	case <-waiter.C:
	default:
		t.Error("who waits was not woken")
	}
	_, err := w.svc.Cancel(ctx, c)
	again := refused(t, err, fault.Conflict, "already_decided")
	if data, _ := again.Data.(map[string]any); data["decision"] != approvals.Cancelled || data["resolvedBy"] != gus || data["resolvedAt"] == nil {
		t.Errorf("told %v; want who, when and what", again.Data)
	}
	_, err = w.svc.Decide(ctx, w.answer(r, true, policy.Single))
	refused(t, err, fault.Conflict, "already_decided")

	events := w.column(`SELECT (payload ->> 'decision') || ' ' || (payload ->> 'reason') FROM session_events WHERE type = 'approval_resolved'`)
	if diff := cmp.Diff([]string{"cancelled asked by mistake"}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"user:" + gus}, w.column(`SELECT actor FROM audit_queue WHERE kind = 'approval_cancelled'`)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if kinds := strings.Join(w.jobKinds(r.ID), " "); !strings.Contains(kinds, "approval_notify_requester") {
		t.Errorf("jobs %s", kinds)
	}
	if n := w.count(`SELECT count(*) FROM river.river_job WHERE kind = 'approval_update_card'`); n != 1 {
		t.Errorf("%d edits of one card", n)
	}
	if w.claims(r) {
		t.Error("a cancelled call was claimed")
	}
}

func TestWhatCannotBeCancelled(t *testing.T) {
	w := newWorld(t)
	late, done := w.ask(w.call(`{"n":1}`)), w.approve(w.ask(w.call(`{"n":2}`)), policy.Single)
	w.overdue(late)
	_, err := w.svc.Cancel(ctx, taken(late, operator))
	refused(t, err, fault.Gone, "expired")
	_, err = w.svc.Cancel(ctx, taken(done, operator))
	refused(t, err, fault.Conflict, "already_decided")
	_, err = w.svc.Cancel(ctx, approvals.Cancellation{AgentID: "other", RequestID: late.ID, Actor: operator})
	refused(t, err, fault.NotFound, "not_found")
	long := taken(w.ask(w.call(`{"n":3}`)), operator)
	long.Reason = strings.Repeat("é", 1001)
	_, err = w.svc.Cancel(ctx, long)
	refused(t, err, fault.Invalid, "invalid")
	if a, b := w.get(late.ID).Status, w.get(done.ID).Status; a != approvals.Expired || b != approvals.Approved {
		t.Errorf("late %s, done %s", a, b)
	}
}

// Of a cancel and a decision at the same time exactly one happens.
func TestCancelAndDecideAtOnce(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		r := w.ask(w.call(`{}`))
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := w.svc.Cancel(ctx, taken(r, user("agent:main"))); err == nil {
					won.Add(1)
				}
			})
			wg.Go(func() {
				if _, err := w.svc.Decide(ctx, w.answer(r, true, policy.Single)); err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		now := w.get(r.ID)
		if won.Load() != 1 || w.claims(now) != (now.Status == approvals.Approved) {
			t.Fatalf("%d won, request is %s", won.Load(), now.Status)
		}
		if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_resolved' AND payload ->> 'requestId' = $1`, r.ID); n != 1 {
			t.Fatalf("%d ends were told", n)
		}
		w.exec(`DELETE FROM approval_requests`)
	}
}
