package rulestore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
	"holm/policy"
	"holm/policy/rulestore"
)

func TestPutChangesTheRowOfItsScopeAndMakesAnother(t *testing.T) {
	w := newWorld(t)
	scoped := func(pattern string) policy.Row {
		r := rule(policy.Allow, "exec", policy.Any())
		r.Scope.Args = []policy.Condition{{Arg: "cmd", Match: policy.MatchGlob, Pattern: pattern}}
		return r
	}
	first := w.put(scoped("ls*"))
	if first.Version != 1 || first.ID == "" || first.Origin != policy.OriginAdmin || first.CreatedBy != "admin" {
		t.Errorf("row %+v", first)
	}
	changed := scoped("ls*")
	changed.Grants, changed.Note = []policy.Grant{policy.ToRole(policy.Owner)}, "owners only"
	second := w.put(changed)
	if second.ID != first.ID || second.Version != 2 || second.Note != "owners only" || string(second.Grants) != `[{"type": "role", "value": "owner"}]` {
		t.Errorf("row %+v", second)
	}
	for name, other := range map[string]policy.Row{
		"scope":  scoped("cat*"),
		"effect": func() policy.Row { r := scoped("ls*"); r.Effect = policy.Deny; return r }(),
		"key":    func() policy.Row { r := scoped("ls*"); r.ResourceKey = "exec2"; return r }(),
		"agent":  func() policy.Row { r := scoped("ls*"); r.AgentID = "other"; return r }(),
	} {
		if got := w.put(other); got.ID == first.ID || got.Version != 1 {
			t.Errorf("another %s: row %+v", name, got)
		}
	}
	if n, other := w.version("main"), w.version("other"); n != 6 || other != 2 {
		t.Errorf("policy versions %d and %d, want 6 and 2", n, other)
	}
}

func TestAddKeepsTheGrantsThatAreThere(t *testing.T) {
	w := newWorld(t)
	for _, requester := range []string{"u1", "u2", "u1", "u3"} {
		row := rule(policy.Allow, "exec", policy.ToUser(requester))
		row.Origin = policy.OriginApproval
		_, err := w.try(row, rulestore.Add)
		w.ok(err)
	}
	rows := w.rows("main")
	if len(rows) != 1 || rows[0].Version != 4 {
		t.Fatalf("rows %+v", rows)
	}
	grants, err := policy.ParseGrants(rows[0].Grants)
	w.ok(err)
	if diff := cmp.Diff([]policy.Grant{policy.ToUser("u1"), policy.ToUser("u2"), policy.ToUser("u3")}, grants); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

func TestConcurrentPutsOfOneRowMakeOne(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			row := rule(policy.Allow, "exec", policy.ToUser(fmt.Sprint("u", i)))
			row.Origin = policy.OriginApproval
			if _, err := w.try(row, rulestore.Add); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	rows := w.rows("main")
	if len(rows) != 1 || rows[0].Version != 20 || w.version("main") != 21 {
		t.Fatalf("%d rows, policy version %d", len(rows), w.version("main"))
	}
	if grants, err := policy.ParseGrants(rows[0].Grants); len(grants) != 20 || err != nil {
		t.Errorf("%d grants, error %v; want all 20", len(grants), err)
	}
}

func TestDelete(t *testing.T) {
	for name, c := range map[string]struct {
		key    string
		effect policy.Effect
		want   int // rows removed
	}{
		"one effect":        {"exec", policy.Deny, 1},
		"all effects":       {"exec", "", 2},
		"no such key":       {"nothing", "", 0},
		"no row so":         {"exec", policy.RequireApproval, 0},
		"a pattern is text": {"ex*", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(rule(policy.Deny, "exec", policy.Any()))
			w.put(rule(policy.Allow, "exec", policy.Any()))
			w.put(rule(policy.Allow, "web_fetch", policy.Any()))
			version := w.version("main")
			var removed []rulestore.Row
			err := db.InTx(ctx, w.pool, func(tx pgx.Tx) (err error) {
				removed, err = rulestore.Delete(ctx, tx, "main", policy.TypeTool, c.key, c.effect, "admin")
				return err
			})
			if len(removed) != c.want || len(w.rows("main")) != 3-c.want {
				t.Errorf("%d removed, %d left", len(removed), len(w.rows("main")))
			}
			if e, ok := fault.As(err); c.want == 0 && (!ok || e.Kind != fault.NotFound) {
				t.Errorf("error %v, want not found", err)
			}
			if changed := w.version("main") - version; changed != map[bool]int64{true: 1}[c.want > 0] {
				t.Errorf("the version rose by %d", changed)
			}
		})
	}
}

func TestBadRowsAreRefusedByName(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		change   func(*policy.Row)
		field    string
		position int
	}{
		"no key":        {func(r *policy.Row) { r.ResourceKey = "" }, "resourceKey", 0},
		"no effect":     {func(r *policy.Row) { r.Effect = "maybe" }, "effect", 0},
		"unknown grant": {func(r *policy.Row) { r.Grants = []policy.Grant{{Type: "group", Value: "x"}} }, "grants[0].type", 0},
		"bad glob": {func(r *policy.Row) {
			r.Scope.Args = []policy.Condition{{Arg: "cmd", Match: policy.MatchGlob, Pattern: "a[b"}}
		}, "scope.args[0].pattern", 2},
	} {
		row := rule(policy.Allow, "exec", policy.Any())
		c.change(&row)
		_, err := w.try(row, rulestore.Put)
		e, ok := fault.As(err)
		if !ok || e.Kind != fault.Invalid || e.Code != "invalid_policy" {
			t.Errorf("%s: %v, want it refused", name, err)
			continue
		}
		if diff := cmp.Diff(map[string]any{"field": c.field, "position": c.position}, e.Data); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if rows := w.rows("main"); len(rows) != 0 || w.version("main") != 1 {
		t.Errorf("stored %+v", rows)
	}
	gone := rule(policy.Allow, "exec", policy.Any())
	gone.AgentID = "gone"
	_, err := w.try(gone, rulestore.Put)
	if e, ok := fault.As(err); !ok || e.Kind != fault.NotFound {
		t.Errorf("a row of no agent: %v", err)
	}
}

func TestChangesAreOnRecord(t *testing.T) {
	w := newWorld(t)
	w.put(rule(policy.Deny, "exec", policy.Any()))
	w.put(rule(policy.Deny, "exec", policy.ToRole(policy.Guest)))
	w.ok(db.InTx(ctx, w.pool, func(tx pgx.Tx) error {
		_, err := rulestore.Delete(ctx, tx, "main", policy.TypeTool, "exec", "", "user:u1")
		return err
	}))
	rows, err := w.pool.Query(ctx, `
		SELECT format('%s %s %s: %s to %s', kind, actor, data ->> 'policyVersion',
		              COALESCE(data -> 'before' -> 0 -> 'grants' -> 0 ->> 'type', 'none'),
		              COALESCE(data -> 'after' -> 0 -> 'grants' -> 0 ->> 'type', 'none'))
		FROM audit_queue
		ORDER BY id`)
	w.ok(err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	w.ok(err)
	if diff := cmp.Diff([]string{
		"policy_set admin 2: none to any", "policy_set admin 3: any to role", "policy_deleted user:u1 4: role to none",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
