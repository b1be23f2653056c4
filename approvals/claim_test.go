package approvals_test

import (
	"testing"

	"holm/approvals"
	"holm/policy"
)

func TestWhenAnApprovalCanBeClaimed(t *testing.T) {
	sql := func(text string) func(*world, approvals.Request) {
		return func(w *world, r approvals.Request) { w.exec(text, r.ID) }
	}
	nothing := func(*world, approvals.Request) {}
	for name, c := range map[string]struct {
		before func(*world, approvals.Request)
		can    bool
	}{
		"at once":                    {nothing, true},
		"within its time":            {sql(`UPDATE approval_grants SET valid_until = clock_timestamp() + interval '1 second' WHERE request_id = $1`), true},
		"after its time":             {sql(`UPDATE approval_grants SET valid_until = clock_timestamp() WHERE request_id = $1`), false},
		"after the question's end":   {(*world).overdue, true},
		"revoked":                    {sql(`UPDATE approval_grants SET revoked_at = now() WHERE request_id = $1`), false},
		"used up":                    {sql(`UPDATE approval_grants SET uses_left = 0 WHERE request_id = $1`), false},
		"without its grant":          {sql(`DELETE FROM approval_grants WHERE request_id = $1`), false},
		"claimed already":            {func(w *world, r approvals.Request) { w.claims(r) }, false},
		"approver no owner any more": {func(w *world, _ approvals.Request) { w.exec(`UPDATE agent_members SET role = 'user'`) }, false},
		"approver gone":              {func(w *world, _ approvals.Request) { w.exec(`DELETE FROM agent_members`) }, false},
		"approver an owner again": {func(w *world, _ approvals.Request) {
			w.exec(`DELETE FROM agent_members`)
			w.exec(`INSERT INTO agent_members (agent_id, user_id, role) VALUES ('main', $1, 'owner')`, w.olga)
		}, true},
		"approver merged into another": {func(w *world, _ approvals.Request) {
			w.exec(`UPDATE users SET merged_into = $1 WHERE id = $2`, w.person("olga2", "", ""), w.olga)
		}, true},
		"approver owns another agent only": {func(w *world, _ approvals.Request) {
			w.agent("other")
			w.exec(`UPDATE agent_members SET agent_id = 'other'`)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.approve(w.ask(w.call(`{}`)), policy.Single)
			c.before(w, r)
			if got := w.claims(r); got != c.can {
				t.Errorf("claimed %v, want %v", got, c.can)
			}
		})
	}
}

func TestTheOperatorsApprovalStands(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	d := w.answer(r, true, policy.Single)
	d.Actor = operator
	_, err := w.svc.Decide(ctx, d)
	w.ok(err)
	w.exec(`DELETE FROM agent_members`)
	if !w.claims(r) {
		t.Error("not claimed")
	}
}

func TestWhatIsNotApprovedIsNotClaimed(t *testing.T) {
	w := newWorld(t)
	open := w.ask(w.call(`{"n":1}`))
	expired := w.ask(w.call(`{"n":2}`))
	w.overdue(expired)
	_, err := w.svc.Expire(ctx, expired.ID)
	w.ok(err)
	for _, r := range []approvals.Request{open, expired, w.reject(w.ask(w.call(`{"n":3}`))), {ID: "no such request"}} {
		if w.claims(r) {
			t.Errorf("claimed a request that is %s", r.Status)
		}
	}
}

func TestReleaseGivesTheApprovalBackAsItWas(t *testing.T) {
	w := newWorld(t)
	for _, resolution := range []policy.Resolution{policy.Single, policy.Once} {
		r := w.approve(w.ask(w.call(`{"for":"`+string(resolution)+`"}`)), resolution)
		if !w.claims(r) {
			t.Fatal("not claimed")
		}
		_, other := w.process()
		w.ok(other.Release(ctx, r.ID))
		if got := w.get(r.ID); got.ClaimedAt == nil {
			t.Fatal("another process gave the claim back")
		}
		w.ok(w.svc.Release(ctx, r.ID))
		w.ok(w.svc.Release(ctx, r.ID))
		if n := w.count(`SELECT uses FROM approval_grants WHERE request_id = $1`, r.ID); n != 0 {
			t.Errorf("%s: %d uses counted", resolution, n)
		}
		if !w.claims(r) || w.claims(r) {
			t.Errorf("%s: want one claim after the release", resolution)
		}
		w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, nil))
		w.ok(w.svc.Release(ctx, r.ID))
		if got := w.get(r.ID); got.FinishedAt == nil || got.ClaimedAt == nil {
			t.Errorf("%s: a finished call was given back", resolution)
		}
	}
}

func TestFinishKeepsTheResultAndTellsOfTheOutcome(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{}`)), policy.Single)
	if err := w.svc.Finish(ctx, r.ID, approvals.Succeeded, nil); err == nil {
		t.Error("a call that nobody claimed was finished")
	}
	if !w.claims(r) {
		t.Fatal("not claimed")
	}
	_, other := w.process()
	if err := other.Finish(ctx, r.ID, approvals.Failed, nil); err == nil {
		t.Error("a process finished the call of another")
	}
	result := []byte("{\"odd\":\"\\u0000\",\"n\":1e999}\n")
	w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, result))
	got := w.get(r.ID)
	if *got.Outcome != approvals.Succeeded || string(got.Result) != string(result) || got.Executing() {
		t.Errorf("request %+v", got)
	}
	if err := w.svc.Finish(ctx, r.ID, approvals.Failed, nil); err == nil || *w.get(r.ID).Outcome != approvals.Succeeded {
		t.Error("a success became a failure")
	}
	if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_executed' AND payload ->> 'outcome' = 'succeeded'`); n != 1 {
		t.Errorf("%d events of the outcome", n)
	}
	kinds := w.column(`SELECT kind FROM audit_queue WHERE data ->> 'requestId' = $1 ORDER BY id`, r.ID)
	if len(kinds) != 4 || kinds[2] != "call_claimed" || kinds[3] != "call_finished" {
		t.Errorf("audit %v", kinds)
	}
}

func TestAResultThatIsTooLargeIsNotKept(t *testing.T) {
	w := newWorld(t)
	for size, kept := range map[int]bool{4 << 20: true, 4<<20 + 1: false} {
		r := w.approve(w.ask(w.call(`{}`, by(string(rune('a'+size%2))))), policy.Single)
		if !w.claims(r) {
			t.Fatal("not claimed")
		}
		w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, make([]byte, size)))
		if got := w.get(r.ID); (got.Result != nil) != kept || *got.Outcome != approvals.Succeeded {
			t.Errorf("%d bytes: kept %v, want %v", size, got.Result != nil, kept)
		}
	}
}
