package approvals_test

import (
	"sync"
	"testing"
	"time"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
	"holm/policy/rulestore"
)

func (w *world) grants() []approvals.Grant {
	w.t.Helper()
	list, err := approvals.Grants(ctx, w.pool, "main", "")
	w.ok(err)
	return list
}

func (w *world) revoke(r approvals.Request) (approvals.Grant, error) {
	return w.svc.Revoke(ctx, r.AgentID, r.ID, approvals.Actor{UserID: w.olga, Name: "Olga", Via: "chat"})
}

func TestGrantsAreListedUntilTheyAreOver(t *testing.T) {
	w := newWorld(t)
	uma := w.person("uma", "main", policy.User)
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource, TTLMinutes: 5})
	single := w.approve(w.ask(w.call(`{"n":2}`)), policy.Single)
	window := w.opened(policy.Once, resource)
	always := w.approve(w.ask(w.call(`{"n":3}`, by(uma))), policy.Persistent)
	w.reject(w.ask(w.call(`{"n":4}`)))
	w.ask(w.call(`{"n":5}`))

	list := w.grants()
	if len(list) != 3 {
		t.Fatalf("%d grants: %+v", len(list), list)
	}
	if g := list[0]; g.ID != always.ID || g.ShortID != always.ShortID || g.RequesterID != uma || g.RequesterName != "uma" ||
		g.Resolution != policy.Persistent || g.Binding != policy.BindResource || g.UsesLeft != nil || g.ValidUntil != nil || len(g.PolicyIDs) != 1 {
		t.Errorf("always: %+v", g)
	}
	if g := list[1]; g.ID != window.ID || g.Binding != policy.BindResource || g.Uses != 1 || g.UsesLeft != nil ||
		!g.ValidUntil.Equal(w.get(window.ID).ResolvedAt.Add(5*time.Minute)) || g.GrantedBy != "Olga" || g.RequesterName != "main" {
		t.Errorf("window: %+v", g)
	}
	if g := list[2]; g.ID != single.ID || g.Binding != policy.BindArguments || g.Uses != 0 || g.UsesLeft == nil || *g.UsesLeft != 1 {
		t.Errorf("single: %+v", g)
	}

	w.ok(w.svc.Used(ctx, list[0].PolicyIDs[0], uma))
	w.ok(w.svc.Used(ctx, list[0].PolicyIDs[0], "somebody else"))
	if !w.claims(single) || !w.claims(always) {
		t.Fatal("not claimed")
	}
	w.exec(`UPDATE approval_grants SET valid_until = clock_timestamp() WHERE request_id = $1`, window.ID)
	if list = w.grants(); len(list) != 1 || list[0].ID != always.ID || list[0].Uses != 2 {
		t.Errorf("in the end: %+v", list)
	}
	w.exec(`DELETE FROM agent_policies`)
	if list = w.grants(); len(list) != 0 {
		t.Errorf("without its row: %+v", list)
	}
}

func TestRevokedIsNotLetThrough(t *testing.T) {
	t.Parallel()
	for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
		w := anotherWorld(t)
		r := w.approve(w.ask(w.call(`{"n":1}`)), resolution)
		g, err := w.revoke(r)
		w.ok(err)
		if g.ID != r.ID || g.Resolution != resolution {
			t.Errorf("%s: revoked %+v", resolution, g)
		}
		if w.claims(r) {
			t.Errorf("%s: the waiting call was let through", resolution)
		}
		if again := w.ask(w.call(`{"n":1}`)); again.ID == r.ID || again.Status != approvals.Pending {
			t.Errorf("%s: a further call got %s", resolution, again.Status)
		}
		if list := w.grants(); len(list) != 0 {
			t.Errorf("%s: still there: %+v", resolution, list)
		}
		_, err = w.revoke(r)
		refused(t, err, fault.Conflict, "already_revoked")
		if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'grant_revoked' AND actor = $1`, "user:"+w.olga); n != 1 {
			t.Errorf("%s: %d records", resolution, n)
		}
	}
}

func TestAnOpenWindowIsClosed(t *testing.T) {
	w := newWorld(t)
	r := w.opened(policy.Once)
	if _, ok := w.uses(w.call(`{"n":1}`)); !ok {
		t.Fatal("closed from the start")
	}
	g, err := w.revoke(r)
	w.ok(err)
	if g.Uses != 2 {
		t.Errorf("%d uses, want 2", g.Uses)
	}
	if _, ok := w.uses(w.call(`{"n":1}`)); ok {
		t.Error("still open")
	}
}

func TestRevokingAlwaysTakesNothingFromOthers(t *testing.T) {
	w := newWorld(t)
	uma, gus := w.person("uma", "main", policy.User), w.person("gus", "main", policy.Guest)
	first := w.approve(w.ask(w.call(`{"n":1}`, by(uma))), policy.Persistent)
	second := w.approve(w.ask(w.call(`{"n":2}`, by(gus))), policy.Persistent)
	before, err := w.svc.Rules.Get(ctx, "main")
	w.ok(err)
	_, err = w.revoke(first)
	w.ok(err)
	rows, err := rulestore.List(ctx, w.pool, "main", "")
	w.ok(err)
	if len(rows) != 1 || string(rows[0].Grants) != `[{"type": "user", "value": "`+gus+`"}]` {
		t.Fatalf("rows %s", rows[0].Grants)
	}
	if list := w.grants(); len(list) != 1 || list[0].ID != second.ID {
		t.Errorf("grants %+v", list)
	}
	after, err := w.svc.Rules.Get(ctx, "main")
	w.ok(err)
	if after.Version <= before.Version {
		t.Error("the compiled rules are the old ones")
	}
	_, err = w.revoke(second)
	w.ok(err)
	if n := w.count(`SELECT count(*) FROM agent_policies`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func TestWhatCannotBeRevoked(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	used := w.opened(policy.Single)
	open := w.ask(w.call(`{"n":2}`))
	window := w.opened(policy.Once, inSession("s2"), func(c *approvals.Call) { c.ResourceKey = "mcp__git__tag" })
	_, err := w.revoke(used)
	refused(t, err, fault.Gone, "grant_over")
	_, err = w.revoke(open)
	refused(t, err, fault.NotFound, "not_found")
	_, err = w.revoke(approvals.Request{AgentID: "main", ID: "none"})
	refused(t, err, fault.NotFound, "not_found")
	_, err = w.svc.Revoke(ctx, "other", window.ID, operator)
	refused(t, err, fault.NotFound, "not_found")
	for _, role := range []policy.Role{policy.User, policy.Guest, ""} {
		who := w.person("x"+string(role), "main", role)
		_, err = w.svc.Revoke(ctx, "main", window.ID, approvals.Actor{UserID: who, Via: "chat"})
		refused(t, err, fault.Forbidden, "forbidden")
	}
	_, err = w.svc.Revoke(ctx, "main", window.ID, approvals.Actor{})
	refused(t, err, fault.Forbidden, "forbidden")
	// What a former owner approved stands no longer, and would again: it can go.
	w.exec(`UPDATE agent_members SET role = 'guest'`)
	_, err = w.svc.Revoke(ctx, "main", window.ID, operator)
	w.ok(err)
}

// TestAUseThatWaitedForTheRevocation: it began before the revocation had
// committed, and ends after.
func TestAUseThatWaitedForTheRevocation(t *testing.T) {
	for name, use := range map[string]func(*world, approvals.Request) bool{
		"claim":  func(w *world, r approvals.Request) bool { return w.claims(r) },
		"window": func(w *world, _ approvals.Request) bool { _, ok := w.uses(w.call(`{"n":1}`)); return ok },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.approve(w.ask(w.call(`{"n":1}`)), policy.Once)
			if name == "window" && !w.claims(r) {
				t.Fatal("not claimed")
			}
			if name == "window" {
				w.ok(w.svc.Finish(ctx, r.ID, approvals.Succeeded, nil))
			}
			tx, err := w.pool.Begin(ctx)
			w.ok(err)
			defer tx.Rollback(ctx)
			_, err = tx.Exec(ctx, `UPDATE approval_grants SET revoked_at = clock_timestamp() WHERE request_id = $1`, r.ID)
			w.ok(err)
			used := make(chan bool, 1)
			go func() { used <- use(w, r) }()
			w.until(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
			w.ok(tx.Commit(ctx))
			if <-used {
				t.Error("let through after the revocation")
			}
		})
	}
}

// until waits for a count that is not 0.
func (w *world) until(sql string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); w.count(sql) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("never happened: %s", sql)
		}
	}
}

// TestRevokedOrClaimed: of a claim and revocations at the same time one wins.
func TestRevokedOrClaimed(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		r := w.approve(w.ask(w.call(`{"n":1}`)), policy.Single)
		var both sync.WaitGroup
		var claimed bool
		var errs [2]error
		both.Go(func() { _, claimed, _ = w.svc.Claim(ctx, r, callOf(r)) })
		for i := range errs {
			both.Go(func() { _, errs[i] = w.revoke(r) })
		}
		both.Wait()
		revoked := 0
		for _, err := range errs {
			if err == nil {
				revoked++
			}
		}
		if claimed == (revoked == 1) || revoked > 1 {
			t.Fatalf("claimed %v, revoked %d times: %v", claimed, revoked, errs)
		}
		if claimed {
			w.ok(w.svc.Finish(ctx, r.ID, approvals.Unknown, nil))
			w.ok(w.svc.Told(ctx, r.ID))
		}
	}
}
