package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

// one makes two users one person until the function it gives is called.
func (r *rig) one(source, target identity.User) (part func()) {
	r.t.Helper()
	var m identity.Merge
	change := func(do func(tx pgx.Tx) error) {
		r.tx(do)
		r.rules.Changed(agentName)
		r.hub.Publish(identity.KeysChanged)
	}
	change(func(tx pgx.Tx) (err error) {
		m, err = identity.MergeUsers(context.Background(), tx, source.ID, target.ID, "test")
		return err
	})
	return func() {
		change(func(tx pgx.Tx) error {
			_, err := identity.UndoMerge(context.Background(), tx, m.Number, "test")
			return err
		})
	}
}

// TestWhoIsPartedUsesNoAnswerOfAnother: a held call shares the question of
// somebody who is another person again when the answer comes.
func TestWhoIsPartedUsesNoAnswerOfAnother(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	una, unasKey := r.member("una", policy.User)
	ulf, ulfsKey := r.member("ulf", policy.User)
	call(t.Context(), r.client(map[string]string{"Authorization": "Bearer " + unasKey, "Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
	question := r.asked(approvals.Pending)
	part := r.one(una, ulf)
	done := later(t.Context(), r.client(map[string]string{"Authorization": "Bearer " + ulfsKey, "Holm-Hold": "10m"}), "record", map[string]any{"n": 1})
	r.waitsFor(2)
	part()
	r.decide(question, true, policy.Single, "")
	r.waitsFor(3)
	own := r.asked(approvals.Pending)
	if ran := r.ran(); own.RequesterID != ulf.ID || own.DuplicateOf != nil || len(ran) != 0 {
		t.Fatalf("%+v, ran %v", own, ran)
	}
	r.decide(own, true, policy.Single, "")
	if got := <-done; got.Text != "recorded" || len(r.ran()) != 1 {
		t.Errorf("%+v, ran %v", got, r.ran())
	}
	if got, err := approvals.Get(t.Context(), r.pool, agentName, question.ID); err != nil || !got.Unclaimed() {
		t.Errorf("the other's approval is %+v (%v)", got, err)
	}
}

// TestAHeldCallOfAnotherPersonRunsNothing: it was asked for in the name of whom
// its key spoke for then.
func TestAHeldCallOfAnotherPersonRunsNothing(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	una, unasKey := r.member("una", policy.User)
	ulf, _ := r.member("ulf", policy.User)
	part := r.one(una, ulf)
	done := later(t.Context(), r.client(map[string]string{"Authorization": "Bearer " + unasKey, "Holm-Hold": "10m"}), "record", map[string]any{"n": 1})
	question := r.asked(approvals.Pending)
	if question.RequesterID != ulf.ID {
		t.Fatalf("asked by %s", question.RequesterID)
	}
	part()
	r.decide(question, true, policy.Single, "")
	if got := <-done; got.Err == nil || !strings.Contains(got.Err.Error(), "another person") || len(r.ran()) != 0 {
		t.Errorf("%+v, ran %v", got, r.ran())
	}
}

// waitsFor waits until so many requests were made.
func (r *rig) waitsFor(n int) {
	r.t.Helper()
	for deadline, made := time.Now().Add(time.Minute), 0; made != n; time.Sleep(5 * time.Millisecond) {
		if err := r.pool.QueryRow(context.Background(), `SELECT count(*) FROM approval_requests`).Scan(&made); err != nil {
			r.t.Fatal(err)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%d requests, want %d", made, n)
		}
	}
}
