package identity_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func (w *world) mergeUsers(source, target identity.User) (m identity.Merge, err error) {
	err = w.tx(func(tx pgx.Tx) (err error) {
		m, err = identity.MergeUsers(ctx, tx, source.ID, target.ID, "admin")
		return err
	})
	return m, err
}

func (w *world) undo(m identity.Merge) error {
	return w.tx(func(tx pgx.Tx) error {
		_, err := identity.UndoMerge(ctx, tx, m.Number, "admin")
		return err
	})
}

// live tells who stands behind each name's address.
func (w *world) live(names ...string) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, name := range names {
		u, ok, err := identity.FindUser(ctx, w.pool, chat(name))
		w.ok(err)
		if ok {
			all[name] = u.Name
		}
	}
	return all
}

func (w *world) wants(want map[string]string) {
	w.t.Helper()
	var names []string
	for name := range want {
		names = append(names, name)
	}
	if diff := cmp.Diff(want, w.live(names...)); diff != "" {
		w.t.Errorf("who is who (-want +got):\n%s", diff)
	}
}

func TestAChainOfMergesComesApartInAnyOrder(t *testing.T) {
	for name, order := range map[string][]int{
		"as made": {0, 1, 2}, "backwards": {2, 1, 0}, "the middle first": {1, 0, 2}, "the middle last": {0, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, b, c, d := w.user("a", policy.Guest), w.user("b", policy.User), w.user("c", ""), w.user("d", policy.Owner)
			var merges []identity.Merge
			for _, pair := range [][2]identity.User{{a, b}, {b, c}, {c, d}} {
				m, err := w.mergeUsers(pair[0], pair[1])
				w.ok(err)
				merges = append(merges, m)
			}
			w.wants(map[string]string{"a": "d", "b": "d", "c": "d", "d": "d"})
			if got := w.role(a); got != policy.Owner {
				t.Errorf("the far end of the chain is %q", got)
			}
			ids, err := identity.PersonIDs(ctx, w.pool, b.ID)
			if err != nil || len(ids) != 4 {
				t.Errorf("ids %v, error %v", ids, err)
			}
			for _, i := range order {
				w.ok(w.undo(merges[i]))
			}
			w.wants(map[string]string{"a": "a", "b": "b", "c": "c", "d": "d"})
			for u, want := range map[identity.User]policy.Role{a: policy.Guest, b: policy.User, c: "", d: policy.Owner} {
				if got := w.role(u); got != want {
					t.Errorf("%s is %q, want %q as before", u.Name, got, want)
				}
			}
		})
	}
}

// A merge made after another was undone is none of the older ones' business.
func TestUndoingLeavesLaterMergesAlone(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.user("a", ""), w.user("b", ""), w.user("c", "")
	first, err := w.mergeUsers(a, b)
	w.ok(err)
	second, err := w.mergeUsers(b, c)
	w.ok(err)
	w.ok(w.undo(first))
	_, err = w.mergeUsers(a, c)
	w.ok(err)
	w.ok(w.undo(second))
	w.wants(map[string]string{"a": "c", "b": "b", "c": "c"})
	merges, err := identity.Merges(ctx, w.pool, c.ID)
	if err != nil || len(merges) != 1 || merges[0].SourceID != a.ID {
		t.Errorf("merges %v, error %v", merges, err)
	}
}

func TestMergesThatCannotBe(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.user("a", ""), w.user("b", ""), w.user("c", "")
	m, err := w.mergeUsers(a, b)
	w.ok(err)
	nobody := identity.User{ID: "nobody"}
	for name, c := range map[string]struct {
		source, target identity.User
		kind           fault.Kind
	}{
		"with oneself":        {c, c, fault.Conflict},
		"again":               {a, b, fault.Conflict},
		"back":                {b, a, fault.Conflict},
		"a merged source":     {a, c, fault.Conflict},
		"into a merged one":   {c, a, fault.Conflict},
		"of nobody":           {nobody, c, fault.NotFound},
		"into nobody":         {c, nobody, fault.NotFound},
		"an agent's identity": {identity.User{ID: "agent:main"}, c, fault.NotFound},
	} {
		_, err := w.mergeUsers(c.source, c.target)
		refused(t, err, c.kind, name)
	}
	w.ok(w.undo(m))
	refused(t, w.undo(m), fault.Conflict, "undoing twice")
	refused(t, w.undo(identity.Merge{Number: 99}), fault.NotFound, "undoing what was never merged")
}

func TestMergesAtOnceMakeNoCircle(t *testing.T) {
	w := newWorld(t)
	users := []identity.User{w.user("a", ""), w.user("b", ""), w.user("c", "")}
	var merged atomic.Int64
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			_, err := w.mergeUsers(users[i%3], users[(i+1)%3])
			if err == nil {
				merged.Add(1)
			} else if f, ok := fault.As(err); !ok || f.Kind != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// Whoever is left over after two refusals joins in a moment; nobody is lost.
	live := w.count(`SELECT count(*) FROM users WHERE merged_into IS NULL`)
	dangling := w.count(`SELECT count(*) FROM users u JOIN users l ON l.id = u.merged_into WHERE l.merged_into IS NOT NULL`)
	if live != 3-int(merged.Load()) || live < 1 || dangling != 0 {
		t.Errorf("%d people after %d merges, %d look-ups that end nowhere", live, merged.Load(), dangling)
	}
}

// What names either of the two counts for the person, and changes of the person
// reach both.
func TestAMergedPersonIsOneMember(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	old, live := w.user("old", policy.Owner), w.user("live", policy.Guest)
	w.ok(w.tx(func(tx pgx.Tx) error { return identity.AddToCircle(ctx, tx, "main", "ops", old.ID, "admin") }))
	w.ok(w.tx(func(tx pgx.Tx) error { return identity.AddToCircle(ctx, tx, "main", "ops", live.ID, "admin") }))
	m, err := w.mergeUsers(old, live)
	w.ok(err)
	if !slices.Equal(m.Agents, []string{"main"}) {
		t.Errorf("agents concerned: %v", m.Agents)
	}
	members, err := identity.Members(ctx, w.pool, "main")
	w.ok(err)
	one := identity.Member{UserID: live.ID, Name: "live", Role: policy.Owner, Identities: []string{"chat:live", "chat:old"}}
	if diff := cmp.Diff([]identity.Member{one}, members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	circles, err := identity.Circles(ctx, w.pool, "main")
	one.Identities = nil
	if diff := cmp.Diff([]identity.Circle{{Name: "ops", Members: []identity.Member{one}}}, circles); diff != "" || err != nil {
		t.Errorf("circles (-want +got):\n%s\n%v", diff, err)
	}
	for _, id := range []string{old.ID, live.ID} {
		p, err := identity.PrincipalOf(ctx, w.pool, identity.Caller{AgentID: "main", UserID: id})
		want := policy.Principal{AgentID: "main", UserID: live.ID, Role: policy.Owner, Circles: []string{"ops"}}
		if diff := cmp.Diff(want, p); diff != "" || err != nil {
			t.Errorf("principal (-want +got):\n%s\n%v", diff, err)
		}
	}
	w.ok(w.tx(func(tx pgx.Tx) error { return identity.SetRole(ctx, tx, "main", live.ID, policy.User, true, "admin") }))
	if got := w.role(old); got != policy.User {
		t.Errorf("after the demotion the person is %q", got)
	}
	w.ok(w.tx(func(tx pgx.Tx) error { return identity.SetRole(ctx, tx, "main", old.ID, policy.Owner, false, "admin") }))
	if got := w.role(live); got != policy.Owner {
		t.Errorf("after the promotion the person is %q", got)
	}
	w.ok(w.undo(m))
	if got := w.role(old); got != policy.User {
		t.Errorf("undone, the other is %q: a promotion is of who lives on, a demotion of all", got)
	}
	w.ok(w.tx(func(tx pgx.Tx) error { _, err := identity.Leave(ctx, tx, "main", old.ID, false, "admin"); return err }))
	if n := w.count(`SELECT count(*) FROM circle_members WHERE user_id = $1`, live.ID); n != 1 {
		t.Error("one who left took another out of a circle")
	}
}

func TestTheLastOwnerStays(t *testing.T) {
	w := newWorld(t)
	a, b := w.user("a", policy.Owner), w.user("b", policy.Owner)
	demote := func(u identity.User, force bool) error {
		return w.tx(func(tx pgx.Tx) error { return identity.SetRole(ctx, tx, "main", u.ID, policy.Guest, force, "admin") })
	}
	leave := func(u identity.User, force bool) error {
		return w.tx(func(tx pgx.Tx) error { _, err := identity.Leave(ctx, tx, "main", u.ID, force, "admin"); return err })
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, u := range []identity.User{a, b} {
		wg.Go(func() { errs[i] = demote(u, false) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("of two demotions at once: %v", errs)
	}
	last, guest := a, b
	if errs[0] == nil {
		last, guest = b, a
	}
	refused(t, demote(last, false), fault.Conflict, "demoting the last owner")
	refused(t, leave(last, false), fault.Conflict, "removing the last owner")
	if got := w.role(last); got != policy.Owner {
		t.Errorf("after the refusals: %q", got)
	}
	w.ok(leave(guest, false))
	refused(t, leave(guest, false), fault.NotFound, "removing somebody twice")
	refused(t, demote(guest, true), fault.NotFound, "the role of nobody")
	w.ok(leave(last, true))
}
