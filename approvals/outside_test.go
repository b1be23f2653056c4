package approvals_test

import (
	"fmt"
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

func outside(c *approvals.Call) { c.Outside = true }

// claimedOutside is an approved question whose caller was let through.
func (w *world) claimedOutside(resolution policy.Resolution) approvals.Request {
	w.t.Helper()
	r := w.approve(w.ask(w.call(`{"a":1}`, outside)), resolution)
	claimed, ok, err := w.svc.ClaimOutside(ctx, r, callOf(r))
	w.ok(err)
	if !ok || !claimed.Outside() {
		w.t.Fatalf("not claimed: %+v", claimed)
	}
	return claimed
}

// An approval for one call lets one caller through; whoever asks again, also the
// same caller whose answer was lost, asks a person.
func TestAnOutsideClaimIsTheOneUse(t *testing.T) {
	w := newWorld(t)
	claimed := w.claimedOutside(policy.Single)
	if _, ok, err := w.svc.ClaimOutside(ctx, claimed, callOf(claimed)); ok || err != nil {
		t.Errorf("claimed twice, error %v", err)
	}
	again := w.ask(w.call(`{"a":1}`, outside))
	if again.ID == claimed.ID || again.Status != approvals.Pending {
		t.Errorf("the same call is answered by request %d, %s", again.ShortID, again.Status)
	}
}

func TestAnswersInsideAndOutsideAreApart(t *testing.T) {
	w := newWorld(t)
	in, out := w.ask(w.call(`{"a":1}`)), w.ask(w.call(`{"a":1}`, outside))
	if in.ID == out.ID || in.ArgsDigest == out.ArgsDigest {
		t.Error("one question for a call through Holm and for one outside")
	}
}

// A time for the tool is one however it is called; a time for these arguments is
// one for the way that was asked about.
func TestATimeForTheToolIsOneInsideAndOutside(t *testing.T) {
	t.Parallel()
	for binding, both := range map[policy.Binding]bool{policy.BindResource: true, policy.BindArguments: false} {
		for name, ways := range map[string][2][]func(*approvals.Call){"inside": {nil, {outside}}, "outside": {{outside}, nil}} {
			w := anotherWorld(t)
			bound := ruleSays(policy.ApprovalSettings{Binding: binding})
			asked, other := append(ways[0], bound), append(ways[1], bound)
			r := w.approve(w.ask(w.call(`{"a":1}`, asked...)), policy.Once)
			claim := w.svc.Claim
			if name == "outside" {
				claim = w.svc.ClaimOutside
			}
			if _, ok, err := claim(ctx, r, callOf(r)); !ok || err != nil {
				t.Fatalf("not claimed, error %v", err)
			}
			if _, ok := w.uses(w.call(`{"b":1}`, other...)); ok != both {
				t.Errorf("bound to %s and asked %s, it covers other arguments the other way: %v", binding, name, ok)
			}
			if _, ok := w.uses(w.call(`{"a":1}`, other...)); ok != both && name == "outside" {
				t.Errorf("bound to %s and asked %s, it covers the same call the other way: %v", binding, name, ok)
			}
		}
	}
}

func TestAClaimIsGivenBackUntold(t *testing.T) {
	w := newWorld(t)
	claimed := w.claimedOutside(policy.Single)
	w.ok(w.svc.ReleaseOutside(ctx, claimed.ID))
	if _, ok, err := w.svc.ClaimOutside(ctx, claimed, callOf(claimed)); !ok || err != nil {
		t.Errorf("not claimed again, error %v", err)
	}
}

func TestAnOutcomeIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	pending := w.ask(w.call(`{"b":1}`, outside))
	_, err := w.svc.Report(ctx, pending.ID, approvals.Succeeded, "")
	refused(t, err, fault.Conflict, "not_claimed")
	claimed := w.claimedOutside(policy.Single)
	_, err = w.svc.Report(ctx, claimed.ID, approvals.Unknown, "")
	refused(t, err, fault.Invalid, "invalid")
	for range 2 {
		r, err := w.svc.Report(ctx, claimed.ID, approvals.Failed, "exit code 3")
		if err != nil || *r.Outcome != approvals.Failed || r.FinishedAt == nil {
			t.Errorf("reported: %+v, error %v", r.Outcome, err)
		}
	}
	_, err = w.svc.Report(ctx, claimed.ID, approvals.Succeeded, "")
	refused(t, err, fault.Conflict, "already_reported")
	if n := w.count(`SELECT count(*) FROM session_events WHERE type = 'approval_executed' AND payload ->> 'message' = 'exit code 3'`); n != 1 {
		t.Errorf("%d events", n)
	}
	inside := w.approve(w.ask(w.call(`{"c":1}`)), policy.Single)
	if !w.claims(inside) {
		t.Fatal("not claimed")
	}
	_, err = w.svc.Report(ctx, inside.ID, approvals.Succeeded, "")
	refused(t, err, fault.Conflict, "not_claimed")
}

// Nobody here runs the call, so no process that ends takes it along; what is not
// reported for long is shown as unknown until it is.
func TestAnUnreportedOutcomeBecomesUnknown(t *testing.T) {
	w := newWorld(t)
	claimed := w.claimedOutside(policy.Single)
	reconcile := &approvals.ReconcileWorker{Service: w.svc}
	w.ok(reconcile.Work(ctx, nil))
	if r := w.get(claimed.ID); r.FinishedAt != nil {
		t.Fatalf("ended as %s before its time", *r.Outcome)
	}
	w.exec(`UPDATE approval_requests SET claimed_at = claimed_at - interval '61 minutes' WHERE id = $1`, claimed.ID)
	w.ok(reconcile.Work(ctx, nil))
	if r := w.get(claimed.ID); r.Outcome == nil || *r.Outcome != approvals.Unknown {
		t.Fatalf("outcome %v, want unknown", r.Outcome)
	}
	if r, err := w.svc.Report(ctx, claimed.ID, approvals.Succeeded, ""); err != nil || *r.Outcome != approvals.Succeeded {
		t.Errorf("a late report: %v, error %v", r.Outcome, err)
	}
}

// A window lets the same call through while an earlier one of it still runs
// outside: it is no retry that could be given the result.
func TestAWindowDoesNotWaitForReports(t *testing.T) {
	w := newWorld(t)
	claimed := w.claimedOutside(policy.Once)
	for range 2 {
		if id, ok := w.uses(w.call(`{"a":1}`, outside)); !ok || id != claimed.ID {
			t.Errorf("let through: %v, by %q", ok, id)
		}
	}
	if n := w.count(`SELECT uses FROM approval_grants WHERE request_id = $1`, claimed.ID); n != 3 {
		t.Errorf("%d uses counted, want 3", n)
	}
}

// TestTheSecretOfACommandIsNotToldOf: the key of a command is the command itself.
func TestTheSecretOfACommandIsNotToldOf(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEF"
	w := newWorld(t)
	ask := w.call(`{}`, outside, ruleSays(policy.ApprovalSettings{RemindAfterMinutes: 5}), func(c *approvals.Call) {
		c.ResourceType, c.ResourceKey = policy.TypeExec, "git push https://x:"+secret+"@example.com"
	})
	r := w.ask(ask)
	w.ok(w.svc.MarkUndelivered(ctx, r.ID))
	w.exec(`UPDATE card_deliveries SET state = 'sent'`)
	w.ok(w.svc.Remind(ctx, r.ID, 1))
	w.approve(r, policy.Once)
	grants := w.grants()
	if _, ok, err := w.svc.ClaimOutside(ctx, r, callOf(r)); err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, err := w.svc.Report(ctx, r.ID, approvals.Succeeded, "")
	w.ok(err)
	if _, ok := w.uses(ask); !ok {
		t.Error("the window does not cover the same command")
	}
	wires, err := approvals.OnWire(ctx, w.pool, w.get(r.ID))
	w.ok(err)
	told := append(w.column(`SELECT payload::text FROM session_events`), w.column(`SELECT data::text FROM audit_queue`)...)
	told = append(told, fmt.Sprintf("%+v", wires), fmt.Sprintf("%+v", grants))
	for _, text := range told {
		if strings.Contains(text, secret) {
			t.Errorf("told: %s", text)
		}
	}
	if n := w.count(`SELECT count(*) FROM session_events`); n != 4 {
		t.Errorf("%d events, want that it was asked, reminded, resolved and executed", n)
	}
}
