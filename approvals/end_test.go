package approvals_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/db"
	"holm/policy"
	"holm/policy/rulestore"
)

// TestAnAlwaysEndsWithItsRow: in whatever way the row goes, nothing that its
// approval left lets a call through, not even the call that waited.
func TestAnAlwaysEndsWithItsRow(t *testing.T) {
	t.Parallel()
	const key = "mcp__git__push"
	deletes := func(w *world, a approvals.Actor) {
		w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
			removed, err := w.svc.DeleteRows(ctx, tx, "main", policy.TypeTool, key, policy.Allow, a)
			if err == nil && len(removed) != 1 {
				t.Errorf("removed %+v", removed)
			}
			return err
		}))
	}
	for name, end := range map[string]func(w *world){
		"deleted by the operator": func(w *world) { deletes(w, operator) },
		"deleted by an owner":     func(w *world) { deletes(w, w.actor(w.olga)) },
		"deleted in the store": func(w *world) {
			w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
				_, err := rulestore.Delete(ctx, tx, "main", policy.TypeTool, key, "", "admin")
				return err
			}))
		},
		"deleted in the database": func(w *world) { w.exec(`DELETE FROM agent_policies WHERE resource_key = $1`, key) },
		"emptied":                 func(w *world) { w.exec(`UPDATE agent_policies SET grants = '[]' WHERE resource_key = $1`, key) },
	} {
		w := anotherWorld(t)
		gus := w.person("gus", "main", policy.Guest)
		r := w.approve(w.ask(w.call(`{"n":1}`)), policy.Persistent)
		other := w.approve(w.ask(w.call(`{"n":1}`, by(gus), func(c *approvals.Call) { c.ResourceKey = "mcp__git__tag" })), policy.Persistent)
		end(w)
		if list := w.grants(); len(list) != 1 || list[0].ID != other.ID {
			t.Errorf("%s: listed %+v", name, list)
		}
		if w.claims(r) {
			t.Errorf("%s: the call that waited was let through", name)
		}
		if again := w.ask(w.call(`{"n":1}`)); again.ID == r.ID || again.Status != approvals.Pending {
			t.Errorf("%s: the same call got %s", name, again.Status)
		}
		if !w.claims(other) {
			t.Errorf("%s: somebody else's was taken too", name)
		}
	}
}

// TestADeletedRowIsToldOnTheCard: who deleted it stands on the card, and the rows
// that the approval opened besides lose the requester.
func TestADeletedRowIsToldOnTheCard(t *testing.T) {
	w := newWorld(t)
	r := w.approve(w.ask(w.call(`{"n":1}`, func(c *approvals.Call) {
		c.Opens = []approvals.Opening{
			{ResourceType: policy.TypeTool, ResourceKey: c.ResourceKey, Scope: policy.Scope{Approves: "rule-1"}},
			{ResourceType: policy.TypeExec, ResourceKey: "git push", Scope: policy.Scope{Approves: "rule-2"}},
		}
	})), policy.Persistent)
	updates := func() int {
		return w.count(`SELECT count(*) FROM river.river_job WHERE kind = $1`, approvals.UpdateCardArgs{}.Kind())
	}
	before := updates()
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		_, err := w.svc.DeleteRows(ctx, tx, "main", policy.TypeExec, "git push", "", w.actor(w.olga))
		return err
	}))
	was, err := approvals.RevocationOf(ctx, w.pool, r.ID)
	w.ok(err)
	if was == nil || was.By == nil || *was.By != w.olga {
		t.Errorf("revoked %+v", was)
	}
	if updates() == before {
		t.Error("no card is edited")
	}
	if n := w.count(`SELECT count(*) FROM agent_policies`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'grant_revoked'`); n != 1 {
		t.Errorf("%d records", n)
	}
}
