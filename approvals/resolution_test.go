package approvals_test

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/policy"
	"holm/policy/rulestore"
)

// left is what a decision leaves besides the request itself.
type left struct {
	Grants, Uses, Rows int
	Bound              bool // the grant is for the very arguments
}

func (w *world) left(r approvals.Request) (l left) {
	w.t.Helper()
	l.Grants = w.count(`SELECT count(*) FROM approval_grants WHERE request_id = $1 AND valid_until = $2`, r.ID, r.ValidUntil())
	l.Uses = w.count(`SELECT COALESCE(sum(uses_left), 0) FROM approval_grants WHERE request_id = $1`, r.ID)
	l.Bound = w.count(`SELECT count(*) FROM approval_grants WHERE request_id = $1 AND args_digest = $2`, r.ID, r.ArgsDigest) == 1
	l.Rows = w.count(`SELECT count(*) FROM agent_policies`)
	return l
}

func TestEachResolutionLeavesExactlyItsOwn(t *testing.T) {
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource, TTLMinutes: 5})
	for name, c := range map[string]struct {
		approve    bool
		resolution policy.Resolution
		change     func(*approvals.Call)
		want       left
	}{
		"rejected":              {false, "", nil, left{}},
		"single":                {true, policy.Single, nil, left{Grants: 1, Uses: 1, Bound: true}},
		"single for a resource": {true, policy.Single, resource, left{Grants: 1, Uses: 1, Bound: true}},
		"once":                  {true, policy.Once, nil, left{Grants: 1, Bound: true}},
		"once by default":       {true, "", nil, left{Grants: 1, Bound: true}},
		"once for a resource":   {true, policy.Once, resource, left{Grants: 1}},
		"persistent":            {true, policy.Persistent, nil, left{Grants: 1, Uses: 1, Rows: 1, Bound: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			call := w.call(`{}`)
			if c.change != nil {
				c.change(&call)
			}
			r, err := w.svc.Decide(ctx, w.answer(w.ask(call), c.approve, c.resolution))
			w.ok(err)
			if diff := gocmp.Diff(c.want, w.left(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.approve && r.ValidUntil() != r.ResolvedAt.Add(call.Rule.Scope.Approval.TTL()) {
				t.Errorf("valid until %v, decided %v", r.ValidUntil(), r.ResolvedAt)
			}
			if !c.approve && w.claims(r) {
				t.Error("a rejected call was claimed")
			}
		})
	}
}

func TestAPersistentApprovalSaysWhatItOpens(t *testing.T) {
	for name, c := range map[string]struct {
		extent approvals.Extent
		rule   string
		want   policy.Scope
		note   string
	}{
		"the tool":      {"", "rule-1", policy.Scope{Approves: "rule-1"}, "any arguments"},
		"the arguments": {approvals.TheseArguments, "rule-1", policy.Scope{Approves: "rule-1"}, "exactly the arguments of request 1"},
		"no row asked":  {approvals.WholeTool, approvals.DefaultRule, policy.Scope{Approves: approvals.DefaultRule}, "any arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			call := w.call(`{"n":1}`)
			call.Rule.ID = c.rule
			d := w.answer(w.ask(call), true, policy.Persistent)
			d.Extent = c.extent
			r, err := w.svc.Decide(ctx, d)
			w.ok(err)
			if want := cmp.Or(c.extent, approvals.WholeTool); *r.Extent != want {
				t.Errorf("extent %s, want %s", *r.Extent, want)
			}
			if c.extent == approvals.TheseArguments {
				c.want.ArgsDigest = r.ArgsSHA256
			}
			rows, err := rulestore.List(ctx, w.pool, "main", policy.TypeTool)
			w.ok(err)
			scope, err := policy.ParseScope(policy.TypeTool, rows[0].Scope)
			w.ok(err)
			if diff := gocmp.Diff(c.want, scope); diff != "" {
				t.Errorf("scope (-want +got):\n%s", diff)
			}
			note := "always allowed with " + c.note + " by Olga on " + r.ResolvedAt.UTC().Format(time.DateOnly)
			if row := rows[0]; len(rows) != 1 || row.Effect != policy.Allow || row.Origin != policy.OriginApproval || row.Note != note {
				t.Errorf("rows %+v", rows)
			}
		})
	}
}

func TestAnotherUsersPersistentApprovalIsAdded(t *testing.T) {
	w := newWorld(t)
	for _, requester := range []string{"u1", "u2", "u1"} {
		w.exec(`UPDATE approval_requests SET resolved_at = resolved_at - interval '2 hours'`)
		w.exec(`UPDATE approval_grants SET valid_until = now() WHERE policy_id IS NULL`)
		w.approve(w.ask(w.call(`{}`, by(requester))), policy.Persistent)
	}
	rows, err := rulestore.List(ctx, w.pool, "main", "")
	w.ok(err)
	if len(rows) != 1 {
		t.Fatalf("%d rows, want 1", len(rows))
	}
	grants, err := policy.ParseGrants(rows[0].Grants)
	w.ok(err)
	if diff := gocmp.Diff([]policy.Grant{policy.ToUser("u1"), policy.ToUser("u2")}, grants); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

// In the process that decided, the row holds when Decide returns.
func TestAPersistentApprovalIsInForceAtOnce(t *testing.T) {
	w := newWorld(t)
	before, err := w.svc.Rules.Get(ctx, "main")
	w.ok(err)
	w.approve(w.ask(w.call(`{}`, func(c *approvals.Call) { c.Rule.ID = approvals.DefaultRule })), policy.Persistent)
	after, err := w.svc.Rules.Get(ctx, "main")
	w.ok(err)
	if after.Version <= before.Version {
		t.Errorf("version %d after %d", after.Version, before.Version)
	}
	got := after.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "mcp__git__push", Server: "git"})
	if got.Decision != policy.Allow {
		t.Errorf("decision %v, want allow", got.Decision)
	}
}
