package approvals_test

import (
	"testing"

	"holm/approvals"
	"holm/policy"
)

// Each case brings a request to an end; a retry then attaches to it, or puts a
// new question.
func TestWhatARetryIsToldAfterTheEnd(t *testing.T) {
	ended := func(status approvals.Status) func(*world, approvals.Request) {
		return func(w *world, r approvals.Request) {
			w.exec(`UPDATE approval_requests SET status = $2, resolved_at = now() WHERE id = $1`, r.ID, status)
		}
	}
	told := func(w *world, r approvals.Request) { w.ok(w.svc.Told(ctx, r.ID)) }
	approve := func(res policy.Resolution) func(*world, approvals.Request) {
		return func(w *world, r approvals.Request) { w.approve(r, res) }
	}
	claim := func(w *world, r approvals.Request) {
		if !w.claims(r) {
			w.t.Fatal("not claimed")
		}
	}
	finish := func(outcome approvals.Outcome) func(*world, approvals.Request) {
		return func(w *world, r approvals.Request) { w.ok(w.svc.Finish(ctx, r.ID, outcome, []byte(`"done"`))) }
	}
	sql := func(text string) func(*world, approvals.Request) {
		return func(w *world, r approvals.Request) { w.exec(text, r.ID) }
	}
	old := sql(`UPDATE approval_requests SET resolved_at = resolved_at - interval '301 seconds' WHERE id = $1`)
	recent := sql(`UPDATE approval_requests SET resolved_at = resolved_at - interval '290 seconds' WHERE id = $1`)
	reject := func(w *world, r approvals.Request) { w.reject(r) }
	type steps []func(*world, approvals.Request)
	shared := newWorld(t)

	for name, c := range map[string]struct {
		steps steps
		same  bool
	}{
		"rejected":                            {steps{reject}, true},
		"rejected and told":                   {steps{reject, told}, true},
		"rejected, told, 290 s ago":           {steps{reject, told, recent}, true},
		"rejected, told, 301 s ago":           {steps{reject, told, old}, false},
		"rejected long ago and never told":    {steps{reject, old}, true},
		"expired":                             {steps{ended("expired")}, true},
		"expired and told":                    {steps{ended("expired"), told}, false},
		"cancelled":                           {steps{ended("cancelled")}, true},
		"cancelled and told":                  {steps{ended("cancelled"), told}, false},
		"past its deadline":                   {steps{(*world).overdue}, true},
		"past its deadline and told":          {steps{(*world).overdue, told}, true},
		"approved":                            {steps{approve(policy.Single)}, true},
		"approved, told":                      {steps{approve(policy.Single), told}, true},
		"approved too long ago":               {steps{approve(policy.Once), sql(`UPDATE approval_grants SET valid_until = now() WHERE request_id = $1`)}, false},
		"approved and revoked":                {steps{approve(policy.Once), sql(`UPDATE approval_grants SET revoked_at = now() WHERE request_id = $1`)}, false},
		"running":                             {steps{approve(policy.Single), claim}, true},
		"a single call that ran":              {steps{approve(policy.Single), claim, finish(approvals.Succeeded), told}, true},
		"a single call that failed":           {steps{approve(policy.Single), claim, finish(approvals.Failed), told}, true},
		"a single call that ran long ago":     {steps{approve(policy.Single), claim, finish(approvals.Succeeded), sql(`UPDATE approval_requests SET resolved_at = resolved_at - interval '61 minutes' WHERE id = $1`)}, false},
		"a call in a window that ran":         {steps{approve(policy.Once), claim, finish(approvals.Succeeded)}, false},
		"a call that may have run":            {steps{approve(policy.Single), claim, finish(approvals.Unknown)}, true},
		"a call that may have run, told once": {steps{approve(policy.Single), claim, finish(approvals.Unknown), told}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := shared.in(t)
			first := w.ask(w.call(`{}`, by(name)))
			for _, step := range c.steps {
				step(w, first)
			}
			second := w.ask(w.call(`{}`, by(name), inSession("second of "+name)))
			if (second.ID == first.ID) != c.same {
				t.Errorf("the same request is %v, want %v: %+v", second.ID == first.ID, c.same, second)
			}
			if !c.same && second.Status != approvals.Pending {
				t.Errorf("the new question is %s", second.Status)
			}
		})
	}
}

// Whoever waits for a question hears of its end also when a retry found it.
func TestARetryThatExpiresAQuestionWakesItsWaiters(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	waiter := w.hub.Wait(approvals.Key(r.ID))
	defer waiter.Close()
	w.overdue(r)
	if got := w.ask(w.call(`{}`)); got.ID != r.ID || got.Status != approvals.Expired {
		t.Fatalf("request %+v, want the first one, expired", got)
	}
	select {
	case <-waiter.C:
	default:
		t.Error("nobody was woken")
	}
}
