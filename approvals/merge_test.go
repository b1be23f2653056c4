package approvals_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/identity"
	"holm/policy"
)

func (w *world) merge(source, target string) (m identity.Merge) {
	w.t.Helper()
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
		m, err = identity.MergeUsers(ctx, tx, source, target, "admin")
		return err
	}))
	return m
}

func (w *world) part(m identity.Merge) {
	w.t.Helper()
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		_, err := identity.UndoMerge(ctx, tx, m.Number, "admin")
		return err
	}))
}

// What somebody asked and was granted counts for the person they were found to
// be, and is theirs alone again when that is undone.
func TestWhatAMergedUserAskedIsThePersons(t *testing.T) {
	w := newWorld(t)
	una, ulf := w.person("una", "main", policy.User), w.person("ulf", "main", policy.User)
	resource := ruleSays(policy.ApprovalSettings{Binding: policy.BindResource})
	open := w.ask(w.call(`{"open":1}`, by(una)))
	approved := w.approve(w.ask(w.call(`{"approved":1}`, by(una))), policy.Single)
	w.opened(policy.Once, by(una), resource)

	check := func(when string, theirs bool) {
		t.Helper()
		if got := w.ask(w.call(`{"approved":1}`, by(ulf))); (got.ID == approved.ID) != theirs {
			t.Errorf("%s: a retry of the approved call attaches: %v", when, !theirs)
		}
		if _, ok := w.uses(w.call(`{"n":2}`, by(ulf), resource)); ok != theirs {
			t.Errorf("%s: the window covers the other: %v", when, ok)
		}
		list, err := approvals.List(ctx, w.pool, "main", approvals.Filter{RequesterID: ulf, Limit: 200})
		w.ok(err)
		var seen bool
		for _, r := range list {
			seen = seen || r.ID == open.ID
		}
		if seen != theirs {
			t.Errorf("%s: the open request is among the other's: %v", when, seen)
		}
	}
	m := w.merge(una, ulf)
	check("merged", true)
	if got := w.ask(w.call(`{"open":1}`, by(ulf))); got.Question() != open.ID {
		t.Error("a retry of the open call is a new question")
	}
	w.part(m)
	check("undone", false)
	if _, ok := w.uses(w.call(`{"n":3}`, by(una), resource)); !ok {
		t.Error("undone, the window does not cover who had it")
	}
}

// An approval stands for as long as its approver is an owner, as whom ever.
func TestAnApproverWhoIsMergedIsAnOwnerStill(t *testing.T) {
	w := newWorld(t)
	gus := w.person("gus", "main", policy.Guest)
	r := w.approve(w.ask(w.call(`{}`)), policy.Single)
	w.merge(w.olga, gus)
	if !w.claims(r) {
		t.Error("the approval fell with the merge")
	}
}

// TestADuplicateOfAnotherPersonEnds: two people were one when a call of both was
// asked for, and are two again. The question stays with who asked it.
func TestADuplicateOfAnotherPersonEnds(t *testing.T) {
	w := newWorld(t)
	una, ulf := w.person("una", "main", policy.User), w.person("ulf", "main", policy.User)
	q := w.ask(w.call(`{}`, by(una)))
	m := w.merge(una, ulf)
	own, theirs := w.ask(w.call(`{}`, by(una), inSession("s2"))), w.ask(w.call(`{}`, by(ulf)))
	if own.Question() != q.ID || theirs.Question() != q.ID {
		t.Fatal("one person's call is two questions")
	}
	w.reconcile()
	if got := w.get(theirs.ID); got.Status != approvals.Pending {
		t.Fatalf("%s while they are one", got.Status)
	}
	w.part(m)
	w.reconcile()
	got := w.get(theirs.ID)
	if got.Status != approvals.Cancelled || *got.ResolvedName != "Holm" || *got.Reason == "" {
		t.Errorf("parted: %+v", got)
	}
	if got := w.get(own.ID); got.Status != approvals.Pending {
		t.Errorf("their own duplicate is %s", got.Status)
	}
	if got := w.get(q.ID); got.Asked != 2 {
		t.Errorf("asked %d times", got.Asked)
	}
	if again := w.ask(w.call(`{}`, by(ulf))); again.DuplicateOf != nil || again.RequesterID != ulf {
		t.Errorf("asked again: %+v", again)
	}
	w.approve(q, policy.Single)
	if got := w.get(theirs.ID); got.Status != approvals.Cancelled {
		t.Errorf("answered for another: %s", got.Status)
	}
}
