package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/policy"
	"holm/policy/rulestore"
)

// TestARevokedAlwaysIsAskedAgain: the uses of a persistent approval are counted,
// and the first call after its revocation is a new question.
func TestARevokedAlwaysIsAskedAgain(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"n": 1})
	asked := r.asked(approvals.Pending)
	r.decide(asked, true, policy.Persistent, "")
	for n := range 3 {
		if got := call(t.Context(), session, "record", map[string]any{"n": n + 2}); got.IsError || got.Err != nil {
			t.Fatalf("always, but %+v", got)
		}
	}
	uses := func() int {
		list, err := approvals.Grants(t.Context(), r.pool, agentName, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("grants %+v, %v", list, err)
		}
		return list[0].Uses
	}
	for deadline := time.Now().Add(time.Minute); uses() != 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d uses counted, want 3", uses())
		}
	}
	if _, err := r.approvals.Revoke(t.Context(), agentName, asked.ID, approvals.Actor{Admin: true, Via: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 5} { // the call that was asked about, and another
		if got := call(t.Context(), session, "record", map[string]any{"n": n}); got.Kind != "APPROVAL_REQUIRED" {
			t.Errorf("revoked, but %+v", got)
		}
	}
	if ran := r.ran(); len(ran) != 3 {
		t.Errorf("ran %d times, want 3", len(ran))
	}
}

// unknownTool is what is said of a tool that is denied whatever its arguments are,
// but to a call that was held.
const unknownTool = `Unknown tool: `

// TestDenyEndsWhatWasApproved: a rule that is turned to deny stops the calls that
// wait, those that a window covers, and those that a persistent approval lets
// through; turned back, what still stands lets them through again.
func TestDenyEndsWhatWasApproved(t *testing.T) {
	r := newRig(t)
	window := policy.Scope{Approval: &policy.ApprovalSettings{Binding: policy.BindResource}}
	r.rule("record", policy.RequireApproval, window)
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"n": 1})
	waiting := r.asked(approvals.Pending)
	held := r.held(r.client(nil).ID(), `{'n':1}`)
	r.decideWhileDenied(waiting, policy.Once)
	if got := <-held; !strings.Contains(got, "deny on tool mcp__fix__record") {
		t.Errorf("the held call got %s", got)
	}
	for _, n := range []int{1, 2} {
		if got := call(t.Context(), session, "record", map[string]any{"n": n}); got.Err == nil || !strings.Contains(got.Err.Error(), unknownTool) {
			t.Errorf("call %d got %+v", n, got)
		}
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("ran %v", ran)
	}
	r.allowAgain()
	for n := range 3 {
		if got := call(t.Context(), session, "record", map[string]any{"n": n}); got.Text != "recorded" {
			t.Errorf("call %d got %+v", n, got)
		}
	}
}

// TestDenyIsAboveAlways: the same of a persistent approval.
func TestDenyIsAboveAlways(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"n": 1})
	held := r.held(r.client(nil).ID(), `{'n':1}`)
	r.decideWhileDenied(r.asked(approvals.Pending), policy.Persistent)
	if got := <-held; !strings.Contains(got, "deny on tool mcp__fix__record") {
		t.Errorf("the held call got %s", got)
	}
	if got := call(t.Context(), session, "record", map[string]any{"n": 2}); got.Err == nil || !strings.Contains(got.Err.Error(), unknownTool) || r.ran() != nil {
		t.Errorf("always, and then denied: %+v, ran %v", got, r.ran())
	}
	r.allowAgain()
	if got := call(t.Context(), session, "record", map[string]any{"n": 2}); got.Text != "recorded" {
		t.Errorf("without the deny: %+v", got)
	}
}

// decideWhileDenied denies the tool and then approves what waits.
func (r *rig) decideWhileDenied(request approvals.Request, resolution policy.Resolution) {
	r.t.Helper()
	r.rule("record", policy.Deny, policy.Scope{})
	r.decide(request, true, resolution, "")
}

func (r *rig) allowAgain() {
	r.t.Helper()
	r.tx(func(tx pgx.Tx) error {
		_, err := rulestore.Delete(context.Background(), tx, agentName, policy.TypeTool, "mcp__fix__record", policy.Deny, "test")
		return err
	})
	r.rules.Changed(agentName)
}

// TestADeletedAlwaysLetsNoFurtherCallThrough: who deletes the row of an always,
// here by the tool, ends the call too that was approved and has not run yet.
func TestADeletedAlwaysLetsNoFurtherCallThrough(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, ownerKey := r.member("olga", policy.Owner)
	owner, session := r.client(map[string]string{"Authorization": "Bearer " + ownerKey}), r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"n": 1})
	r.decide(r.asked(approvals.Pending), true, policy.Persistent, "")
	if text, failed := plain(t, owner, "policy_delete", map[string]any{"resourceKey": "mcp__fix__record", "effect": "allow"}); failed {
		t.Fatal(text)
	}
	for _, n := range []int{1, 2} { // the call that was approved, and another
		if got := call(t.Context(), session, "record", map[string]any{"n": n}); got.Kind != "APPROVAL_REQUIRED" {
			t.Errorf("deleted, but %+v", got)
		}
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("ran %v", ran)
	}
}
