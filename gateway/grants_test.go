package gateway_test

import (
	"testing"
	"time"

	"holm/approvals"
	"holm/policy"
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
