package approvals_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

func TestWhoMayDecide(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	user := func(name, agent string, role policy.Role) approvals.Actor {
		return approvals.Actor{UserID: w.person(name, agent, role), Name: name, Via: "chat"}
	}
	former := user("former", "main", policy.Owner)
	w.exec(`DELETE FROM agent_members WHERE user_id = $1`, former.UserID)
	demoted := user("demoted", "main", policy.Owner)
	w.exec(`UPDATE agent_members SET role = 'user' WHERE user_id = $1`, demoted.UserID)
	// Before the merge it was the source who owned the agent.
	merged, source := user("merged", "", ""), user("source", "main", policy.Owner)
	w.exec(`UPDATE users SET merged_into = $1 WHERE id = $2`, merged.UserID, source.UserID)

	for name, c := range map[string]struct {
		actor approvals.Actor
		may   bool
	}{
		"operator":                     {operator, true},
		"owner":                        {approvals.Actor{UserID: w.olga, Name: "Olga"}, true},
		"owner by a merge":             {merged, true},
		"owner under the old id":       {source, true},
		"former owner":                 {former, false},
		"demoted owner":                {demoted, false},
		"user":                         {user("user", "main", policy.User), false},
		"guest":                        {user("guest", "main", policy.Guest), false},
		"stranger":                     {user("stranger", "", ""), false},
		"owner of another agent":       {user("elsewhere", "other", policy.Owner), false},
		"somebody who is not there":    {approvals.Actor{UserID: "no such user"}, false},
		"nobody":                       {approvals.Actor{}, false},
		"a user who is called admin":   {approvals.Actor{UserID: "admin", Name: "admin"}, false},
		"the requesting agent":         {approvals.Actor{UserID: "agent:main"}, false},
		"an owner's name on a guest":   {approvals.Actor{UserID: w.person("guest2", "main", policy.Guest), Name: "Olga"}, false},
		"an owner's address as the id": {approvals.Actor{UserID: "chat:olga"}, false},
	} {
		for _, approve := range []bool{true, false} {
			r := w.ask(w.call(`{"who":"` + name + `","approve":"` + map[bool]string{true: "y", false: "n"}[approve] + `"}`))
			d := w.answer(r, approve, policy.Single)
			d.Actor = c.actor
			_, err := w.svc.Decide(ctx, d)
			if c.may != (err == nil) {
				t.Errorf("%s, approve %v: %v", name, approve, err)
			}
			if !c.may {
				code := "not_a_reviewer"
				if c.actor.UserID == r.RequesterID {
					code = "self_approval"
				}
				refused(t, err, fault.Forbidden, code)
				if got := w.get(r.ID); got.Status != approvals.Pending {
					t.Errorf("%s: the request is %s", name, got.Status)
				}
			}
		}
	}
}

func TestBadDecisionsAreRefusedAndChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	singleOnly := ruleSays(policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Single}})
	r := w.ask(w.call(`{}`, singleOnly))
	for name, c := range map[string]struct {
		change func(*approvals.Decision)
		kind   fault.Kind
		code   string
	}{
		"not offered":             {func(d *approvals.Decision) { d.Resolution = policy.Persistent }, fault.Invalid, "resolution_not_offered"},
		"the default not offered": {func(d *approvals.Decision) { d.Resolution = "" }, fault.Invalid, "resolution_not_offered"},
		"no such resolution":      {func(d *approvals.Decision) { d.Resolution = "forever" }, fault.Invalid, "invalid"},
		"no such extent":          {func(d *approvals.Decision) { d.Extent = "everything" }, fault.Invalid, "invalid"},
		"reason too long":         {func(d *approvals.Decision) { d.Reason = strings.Repeat("ä", 1001) }, fault.Invalid, "invalid"},
		"unknown request":         {func(d *approvals.Decision) { d.RequestID = "x" }, fault.NotFound, "not_found"},
		"foreign request":         {func(d *approvals.Decision) { d.AgentID = "other" }, fault.NotFound, "not_found"},
	} {
		d := w.answer(r, true, policy.Single)
		c.change(&d)
		_, err := w.svc.Decide(ctx, d)
		e, ok := fault.As(err)
		if !ok || e.Kind != c.kind || e.Code != c.code {
			t.Errorf("%s: %v, want kind %d, code %s", name, err, c.kind, c.code)
		}
	}
	now := w.get(r.ID)
	now.ReadAt = r.ReadAt
	if diff := cmp.Diff(r, now); diff != "" {
		t.Errorf("the request has changed (-want +got):\n%s", diff)
	}
	longest := w.answer(r, false, "")
	longest.Reason = strings.Repeat("ä", 1000)
	got, err := w.svc.Decide(ctx, longest)
	if err != nil || *got.Reason != longest.Reason {
		t.Errorf("the longest reason: %v", err)
	}
}

func TestADecisionIsToldToAllConcerned(t *testing.T) {
	w := newWorld(t)
	rita := w.person("rita", "main", policy.User)
	r := w.ask(w.call(`{}`, by(rita)))
	d := w.answer(r, false, "")
	d.Reason = "not on a Friday"
	got, err := w.svc.Decide(ctx, d)
	w.ok(err)
	if got.Status != approvals.Rejected || *got.ResolvedBy != w.olga || *got.ResolvedName != "Olga" ||
		*got.ResolvedVia != "chat" || *got.Reason != d.Reason || got.Resolution != nil || got.Version != 2 {
		t.Errorf("request %+v", got)
	}
	event := w.column(`SELECT payload ->> 'decision' || ' ' || (payload ->> 'reviewerId') || ' ' || (payload ->> 'reason')
		FROM session_events WHERE type = 'approval_resolved' AND session_id = $1`, "of "+rita)
	if diff := cmp.Diff([]string{"rejected " + w.olga + " not on a Friday"}, event); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'approval_rejected' AND data ->> 'requestId' = $1`, r.ID); n != 1 {
		t.Errorf("%d audit records", n)
	}
	if diff := cmp.Diff([]string{"approval_expire", "approval_notify_requester", "approval_undelivered"}, w.jobKinds(r.ID)); diff != "" {
		t.Errorf("jobs about the request (-want +got):\n%s", diff)
	}
	card := w.column(`SELECT id FROM card_deliveries`)[0]
	if diff := cmp.Diff([]string{"approval_deliver", "approval_update_card"}, w.jobKinds(card)); diff != "" {
		t.Errorf("jobs about the card (-want +got):\n%s", diff)
	}
}

// A rejection may invite another proposal: all who asked learn that, and the same
// call still gets the same answer.
func TestARejectionThatAsksToTryDifferently(t *testing.T) {
	w := newWorld(t)
	q, second, _ := w.thrice()
	d := w.answer(q, true, policy.Single)
	d.TryDifferently = true
	_, err := w.svc.Decide(ctx, d)
	refused(t, err, fault.Invalid, "invalid")
	d = w.answer(q, false, "")
	d.TryDifferently, d.Reason = true, "a branch, not main"
	got, err := w.svc.Decide(ctx, d)
	w.ok(err)
	if !got.TryDifferently || !w.get(second.ID).TryDifferently {
		t.Errorf("the rejection lost what it invites to: %+v", got)
	}
	if again := w.ask(w.call(`{}`)); again.ID != q.ID {
		t.Errorf("the same call again is request %d", again.ShortID)
	}
	for what, sql := range map[string]string{
		"events":  `SELECT count(*) FROM session_events WHERE type = 'approval_resolved' AND payload ->> 'tryDifferently' = 'true'`,
		"records": `SELECT count(*) FROM audit_queue WHERE kind = 'approval_rejected' AND data ->> 'tryDifferently' = 'true'`,
	} {
		if n := w.count(sql); n != 3 {
			t.Errorf("%d %s tell of it, want 3", n, what)
		}
	}
	wires, err := approvals.OnWire(ctx, w.pool, w.get(q.ID))
	w.ok(err)
	if !wires[0].TryDifferently {
		t.Error("the wire does not tell of it")
	}
}

func TestADecisionLeavesNothingWhenItsJobsFail(t *testing.T) {
	w := newWorld(t)
	r := w.ask(w.call(`{}`))
	works := w.svc.Jobs
	w.svc.Jobs = brokenQueue{}
	if _, err := w.svc.Decide(ctx, w.answer(r, true, policy.Persistent)); err == nil {
		t.Fatal("no error")
	}
	if got := w.get(r.ID); got.Status != approvals.Pending {
		t.Errorf("the request is %s", got.Status)
	}
	if n := w.count(`SELECT (SELECT count(*) FROM approval_grants) + (SELECT count(*) FROM agent_policies)`); n != 0 {
		t.Errorf("%d grants and rows left", n)
	}
	w.svc.Jobs = works
	w.approve(r, policy.Single)
}

func TestAFinishedRequestSaysWhoWhenAndWhat(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{}`)), policy.Once)
	late := w.answer(r, false, "")
	late.Actor = operator
	got, err := w.svc.Decide(ctx, late)
	e := refused(t, err, fault.Conflict, "already_decided")
	want := map[string]any{"decision": approvals.Approved, "resolution": policy.Once, "resolvedBy": w.olga, "resolvedName": "Olga", "resolvedAt": r.ResolvedAt}
	if diff := cmp.Diff(want, e.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if !strings.Contains(e.Message, "Olga") || got.ID != r.ID || got.Status != approvals.Approved {
		t.Errorf("%s: %+v", e.Message, got)
	}
	withdrawn := w.ask(w.call(`{"n":2}`))
	w.exec(`UPDATE approval_requests SET status = 'cancelled', resolved_at = now() WHERE id = $1`, withdrawn.ID)
	_, err = w.svc.Decide(ctx, w.answer(withdrawn, true, policy.Single))
	if e := refused(t, err, fault.Conflict, "already_decided"); !strings.Contains(e.Message, "cancelled by its requester") {
		t.Error(e.Message)
	}
}
