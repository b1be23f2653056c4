package rulestore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/identity"
	"holm/policy"
)

// A grant to a user who lives on as another is one to that other, allow and
// deny alike; other processes learn of it without being told.
func TestGrantsFollowAMerge(t *testing.T) {
	w := newWorld(t)
	w.exec(`INSERT INTO users (id, name) VALUES ('old', 'Old'), ('live', 'Live')`)
	w.put(rule(policy.Allow, "mcp__git__log", policy.ToUser("old")))
	w.put(rule(policy.Allow, "mcp__git__push", policy.Any()))
	w.put(rule(policy.Deny, "mcp__git__push", policy.ToUser("old")))
	deaf := w.start(true)
	decides := func(tool string) policy.Effect {
		set, err := deaf.Get(ctx, "main")
		w.ok(err)
		return set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main", UserID: "live"}, Tool: tool, Server: "git"}).Decision
	}
	expect := func(log, push policy.Effect) {
		t.Helper()
		w.comesTo(func() bool { return decides("mcp__git__log") == log && decides("mcp__git__push") == push })
	}
	expect(policy.Deny, policy.Allow)
	var m identity.Merge
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
		m, err = identity.MergeUsers(ctx, tx, "old", "live", "admin")
		return err
	}))
	expect(policy.Allow, policy.Deny)
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
		_, err = identity.UndoMerge(ctx, tx, m.Number, "admin")
		return err
	}))
	expect(policy.Deny, policy.Allow)
}
