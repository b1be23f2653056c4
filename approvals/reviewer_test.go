package approvals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

// cast is an agent with one person of each kind; their names are their ids here.
func cast(t *testing.T) (w *world, ids map[string]string) {
	w = newWorld(t)
	w.agent("other")
	ids = map[string]string{
		"olga": w.olga, "uma": w.person("uma", "main", policy.User), "gus": w.person("gus", "main", policy.Guest),
		"sec": w.person("sec", "main", policy.Guest), "stranger": w.person("stranger", "", ""),
		"elsewhere": w.person("elsewhere", "other", policy.Owner),
	}
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		return identity.AddToCircle(ctx, tx, "main", "security", ids["sec"], "test")
	}))
	return w, ids
}

// Whom a rule names may decide, and gets the card; nobody else does.
func TestTheRuleNamesWhoDecides(t *testing.T) {
	w, ids := cast(t)
	for name, c := range map[string]struct {
		approvers []policy.Grant
		want      []string
	}{
		"nobody named": {nil, []string{"olga"}},
		"a role":       {[]policy.Grant{policy.ToRole(policy.User)}, []string{"uma"}},
		"a user":       {[]policy.Grant{policy.ToUser(ids["gus"])}, []string{"gus"}},
		"a circle":     {[]policy.Grant{policy.ToCircle("security")}, []string{"sec"}},
		"several":      {[]policy.Grant{policy.ToRole(policy.Owner), policy.ToCircle("security")}, []string{"olga", "sec"}},
		"any member":   {[]policy.Grant{policy.Any()}, []string{"gus", "olga", "sec", "uma"}},
		"no member":    {[]policy.Grant{policy.ToUser(ids["stranger"]), policy.ToUser(ids["elsewhere"])}, nil},
	} {
		rule := ruleSays(policy.ApprovalSettings{Approvers: c.approvers})
		r := w.ask(w.call(`{"for":"`+name+`"}`, rule))
		cards := w.column(`SELECT identity FROM card_deliveries WHERE request_id = $1 ORDER BY identity`, r.ID)
		if diff := cmp.Diff(c.want, cards); diff != "" && len(c.want)+len(cards) > 0 {
			t.Errorf("%s: cards (-want +got):\n%s", name, diff)
		}
		for who, id := range ids {
			got, err := w.decides(w.ask(w.call(`{"for":"`+name+who+`"}`, rule)), chat(id, who), true, policy.Single, "")
			if may := listed(c.want, who); may != (err == nil) {
				t.Errorf("%s: %s may %v: %v", name, who, may, err)
			} else if may && !w.claims(got) {
				t.Errorf("%s: what %s approved cannot be claimed", name, who)
			} else if !may {
				refused(t, err, fault.Forbidden, "not_a_reviewer")
			}
		}
		if _, err := w.decides(r, operator, false, "", ""); err != nil {
			t.Errorf("%s: the operator: %v", name, err)
		}
	}
}

func listed(list []string, who string) bool {
	for _, one := range list {
		if one == who {
			return true
		}
	}
	return false
}

// An approval stands no longer once the rule's people do not include its giver.
func TestAnApproverWhoLeftTheCircleStandsNoMore(t *testing.T) {
	w, ids := cast(t)
	r := w.ask(w.call(`{}`, ruleSays(policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToCircle("security")}})))
	w.votes(r, chat(ids["sec"], "Sec"), policy.Single)
	w.exec(`DELETE FROM circle_members`)
	if w.claims(r) {
		t.Error("claimed")
	}
}

// Where two rules asked, who decides must be named by both.
func TestAnApproverIsNamedByEveryRule(t *testing.T) {
	w, ids := cast(t)
	set, err := policy.Compile("main", []policy.Row{
		{ID: "a", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "t", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()},
			Scope: policy.Scope{Approval: &policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToCircle("security"), policy.ToUser(ids["uma"])}}}},
		{ID: "b", AgentID: "main", ResourceType: policy.TypeTool, ResourceKey: "*", Effect: policy.RequireApproval, Grants: []policy.Grant{policy.Any()},
			Scope: policy.Scope{Approval: &policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToRole(policy.Owner), policy.ToRole(policy.User)}}}},
	}, policy.Options{})
	w.ok(err)
	settings := set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "t"}).Settings
	r := w.ask(w.call(`{}`, ruleSays(*settings)))
	for who, id := range ids {
		may, err := approvals.MayDecide(ctx, w.pool, r, id)
		w.ok(err)
		if may != (who == "uma") {
			t.Errorf("%s may decide: %v", who, may)
		}
	}
}

func TestNobodyApprovesTheirOwnRequestButAnOwnerAlone(t *testing.T) {
	w, ids := cast(t)
	anybody := policy.ApprovalSettings{Approvers: []policy.Grant{policy.Any()}}
	two := policy.ApprovalSettings{Quorum: 2}
	alias := w.person("alias", "", "")
	w.exec(`UPDATE users SET merged_into = $1 WHERE id = $2`, ids["uma"], alias)
	for name, c := range map[string]struct {
		requester, actor string
		settings         policy.ApprovalSettings
		may              bool
	}{
		"an owner confirms":             {ids["olga"], ids["olga"], policy.ApprovalSettings{}, true},
		"an owner among two":            {ids["olga"], ids["olga"], two, false},
		"a user whom the rule names":    {ids["uma"], ids["uma"], anybody, false},
		"under the id before the merge": {alias, ids["uma"], anybody, false},
		"a guest":                       {ids["gus"], ids["gus"], policy.ApprovalSettings{}, false},
	} {
		for _, approve := range []bool{true, false} {
			r := w.ask(w.call(`{"for":"`+name+`","approve":"`+map[bool]string{true: "y", false: "n"}[approve]+`"}`, by(c.requester), ruleSays(c.settings)))
			_, err := w.decides(r, chat(c.actor, "Self"), approve, policy.Single, "")
			if c.may != (err == nil) {
				t.Errorf("%s, approve %v: %v", name, approve, err)
			}
			if !c.may {
				refused(t, err, fault.Forbidden, "self_approval")
			}
		}
	}
}

func TestARuleThatWantsAReasonTakesNoneWithout(t *testing.T) {
	w := newWorld(t)
	for _, approve := range []bool{true, false} {
		r := w.ask(w.call(map[bool]string{true: `{"n":1}`, false: `{"n":2}`}[approve], ruleSays(policy.ApprovalSettings{RequireReason: true})))
		d := w.answer(r, approve, policy.Single)
		for _, reason := range []string{"", " \t\n"} {
			d.Reason = reason
			_, err := w.svc.Decide(ctx, d)
			refused(t, err, fault.Invalid, "reason_required")
		}
		d.Reason = " the build is broken "
		got, err := w.svc.Decide(ctx, d)
		w.ok(err)
		if *got.Reason != "the build is broken" {
			t.Errorf("reason %q", *got.Reason)
		}
	}
}

// Silence is no reason either.
func TestAReasonNobodyWritesRejectsNothingThatWantsOne(t *testing.T) {
	w := newWorld(t)
	for wanted, want := range map[bool]approvals.Status{true: approvals.Pending, false: approvals.Rejected} {
		r := w.ask(w.call(map[bool]string{true: `{"n":1}`, false: `{"n":2}`}[wanted], ruleSays(policy.ApprovalSettings{RequireReason: wanted})))
		_, err := w.svc.Await(ctx, "main", r.ID, approvals.Reject, chat(w.olga, "Olga"))
		w.ok(err)
		w.exec(`UPDATE approval_requests SET hold = hold || jsonb_build_object('until', now() - interval '1 second') WHERE id = $1`, r.ID)
		got, err := w.svc.EndHold(ctx, r.ID)
		w.ok(err)
		if got.Status != want || got.Held() != nil {
			t.Errorf("wanted %v: request is %s, held %v", wanted, got.Status, got.Held())
		}
	}
}
