package approvals_test

import (
	"testing"

	"holm/approvals"
	"holm/policy"
)

// opened asks for {"n":1}, approves it and runs it.
func (w *world) opened(resolution policy.Resolution, changes ...func(*approvals.Call)) approvals.Request {
	w.t.Helper()
	r := w.approve(w.ask(w.call(`{"n":1}`, changes...)), resolution)
	if !w.claims(r) {
		w.t.Fatal("not claimed")
	}
	w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, []byte(`1`)))
	return r
}

// TestARetryIsNoNewUse: while the call that was asked about runs, and until its
// caller has heard that its outcome is unknown, the same call again is a retry.
func TestARetryIsNoNewUse(t *testing.T) {
	w := newWorld(t)
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource})
	again, other := w.call(`{"n":1}`, resource), w.call(`{"n":2}`, resource)
	r := w.approve(w.ask(again), policy.Once)
	if !w.claims(r) {
		t.Fatal("not claimed")
	}
	second := w.approve(w.ask(other), policy.Once) // its window covers the first call too
	if !w.claims(second) {
		t.Fatal("not claimed")
	}
	w.ok(w.svc.Finish(ctx, second.ID, approvals.Succeeded, nil))

	if _, ok := w.uses(again); ok {
		t.Error("used while it runs")
	}
	if _, ok := w.uses(other); !ok {
		t.Error("another call was kept out")
	}
	w.ok(w.svc.Finish(ctx, r.ID, approvals.Unknown, nil))
	if _, ok := w.uses(again); ok {
		t.Error("used before the unknown outcome was told")
	}
	w.ok(w.svc.Told(ctx, r.ID))
	if _, ok := w.uses(again); !ok {
		t.Error("not used after the unknown outcome was told")
	}
}

func (w *world) uses(c approvals.Call) (requestID string, ok bool) {
	w.t.Helper()
	id, ok, err := w.svc.UseWindow(ctx, c)
	w.ok(err)
	return id, ok
}

func TestWhatAWindowLetsThrough(t *testing.T) {
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource})
	anotherRule := func(c *approvals.Call) { c.Rule.ID = "rule-2" }
	anotherTool := func(c *approvals.Call) { c.ResourceKey = "mcp__git__pull" }
	type changes []func(*approvals.Call)
	for name, c := range map[string]struct {
		asked, call changes
		args        string
		want        bool
	}{
		"the same arguments":          {nil, nil, `{"n":1}`, true},
		"the same in another session": {nil, changes{inSession("s2")}, `{"n":1}`, true},
		"other arguments":             {nil, nil, `{"n":2}`, false},
		"another requester":           {nil, changes{by("u1")}, `{"n":1}`, false},
		"another tool":                {nil, changes{anotherTool}, `{"n":1}`, false},
		"another rule":                {nil, changes{anotherRule}, `{"n":1}`, false},
		"a changed rule":              {nil, changes{ruleVersion(2)}, `{"n":1}`, false},
		"resource: other arguments":   {changes{resource}, changes{resource}, `{"n":2}`, true},
		"resource: another requester": {changes{resource}, changes{resource, by("u1")}, `{"n":2}`, false},
		"resource: another tool":      {changes{resource}, changes{resource, anotherTool}, `{"n":2}`, false},
		"resource: a changed rule":    {changes{resource}, changes{resource, ruleVersion(2)}, `{"n":2}`, false},
		"resource: another rule":      {changes{resource}, changes{resource, anotherRule}, `{"n":2}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.opened(policy.Once, c.asked...)
			id, ok := w.uses(w.call(c.args, c.call...))
			if ok != c.want || ok && id != r.ID {
				t.Errorf("let through %v by %q, want %v", ok, id, c.want)
			}
			if n := w.count(`SELECT uses FROM approval_grants`); n != map[bool]int{true: 2, false: 1}[c.want] {
				t.Errorf("%d uses counted", n)
			}
			if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'grant_used'`); (n == 1) != c.want {
				t.Errorf("%d audit records of the use", n)
			}
		})
	}
}

func TestAWindowEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"after its time":           `UPDATE approval_grants SET valid_until = clock_timestamp()`,
		"when revoked":             `UPDATE approval_grants SET revoked_at = now()`,
		"with the approver's role": `UPDATE agent_members SET role = 'guest'`,
	} {
		w := anotherWorld(t)
		w.opened(policy.Once)
		for range 3 {
			if _, ok := w.uses(w.call(`{"n":1}`)); !ok {
				t.Fatal("the window is closed from the start")
			}
		}
		w.exec(end)
		if _, ok := w.uses(w.call(`{"n":1}`)); ok {
			t.Errorf("%s the window is still open", name)
		}
		if n := w.count(`SELECT uses FROM approval_grants`); n != 4 {
			t.Errorf("%d uses counted, want 4", n)
		}
	}
}

func TestNeitherSingleNorPersistentOpensAWindow(t *testing.T) {
	t.Parallel()
	for _, resolution := range []policy.Resolution{policy.Single, policy.Persistent} {
		w := anotherWorld(t)
		w.opened(resolution)
		if _, ok := w.uses(w.call(`{"n":1}`)); ok {
			t.Errorf("%s opens a window", resolution)
		}
	}
}

// The call that was asked about runs as its request, not beside it.
func TestTheCallThatWaitsClaimsItsRequestFirst(t *testing.T) {
	w := newWorld(t)
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource})
	r := w.approve(w.ask(w.call(`{"n":1}`, resource)), policy.Once)
	if _, ok := w.uses(w.call(`{"n":1}`, resource)); ok {
		t.Error("the waiting call went past its own request")
	}
	if id, ok := w.uses(w.call(`{"n":2}`, resource)); !ok || id != r.ID {
		t.Error("another call was kept out until the first one ran")
	}
	if !w.claims(r) {
		t.Error("not claimed")
	}
}
