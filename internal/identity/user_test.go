package identity_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func TestOneAddressIsOnePerson(t *testing.T) {
	w := newWorld(t)
	ids := make([]string, 20)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			err := w.tx(func(tx pgx.Tx) error {
				u, err := identity.EnsureUser(ctx, tx, chat("olga"), "Olga")
				ids[i] = u.ID
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("people %v, want one", ids)
		}
	}
	if n := w.count(`SELECT count(*) FROM users`); n != 1 {
		t.Errorf("%d users, want 1", n)
	}
	nameless := w.user("", "")
	if nameless.Name != "chat:" {
		t.Errorf("somebody without a name is called %q", nameless.Name)
	}
	if _, ok, err := identity.FindUser(ctx, w.pool, identity.Address{Channel: "mail", Identity: "olga"}); ok || err != nil {
		t.Errorf("found on another channel: %v, error %v", ok, err)
	}
}

func TestLookUpsFollowAMerge(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	old, live := w.user("old", policy.Owner), w.user("live", policy.Guest)
	w.ok(w.tx(func(tx pgx.Tx) error { return identity.Join(ctx, tx, "other", old.ID, policy.User, "test") }))
	w.merge(old, live)

	found, ok, err := identity.FindUser(ctx, w.pool, chat("old"))
	if err != nil || !ok || found.ID != live.ID || found.Name != "live" {
		t.Errorf("behind the old address is %+v, error %v", found, err)
	}
	for _, u := range []identity.User{old, live} {
		if got := w.role(u); got != policy.Owner {
			t.Errorf("%s is %q, want the higher role", u.Name, got)
		}
		addresses, err := identity.Addresses(ctx, w.pool, u.ID)
		w.ok(err)
		if diff := cmp.Diff([]identity.Address{chat("live"), chat("old")}, addresses); diff != "" {
			t.Errorf("addresses of %s (-want +got):\n%s", u.Name, diff)
		}
		roles, err := identity.RolesOf(ctx, w.pool, u.ID)
		w.ok(err)
		if diff := cmp.Diff([]identity.AgentRole{{AgentID: "main", Role: policy.Owner}, {AgentID: "other", Role: policy.User}}, roles); diff != "" {
			t.Errorf("roles of %s (-want +got):\n%s", u.Name, diff)
		}
	}
	owners, err := identity.Owners(ctx, w.pool, "main")
	w.ok(err)
	want := []identity.Owner{
		{UserID: live.ID, Name: "live", Address: chat("live")},
		{UserID: live.ID, Name: "live", Address: chat("old")},
	}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	again := w.user("old", "")
	if again.ID != live.ID {
		t.Error("the old address made a new person")
	}
}

func TestStrangersAreNobody(t *testing.T) {
	w := newWorld(t)
	if got := w.role(identity.User{ID: "nobody"}); got != "" {
		t.Errorf("role %q", got)
	}
	addresses, err := identity.Addresses(ctx, w.pool, "agent:main")
	if err != nil || len(addresses) != 0 {
		t.Errorf("an agent can be written to at %v, error %v", addresses, err)
	}
	if name, err := identity.UserName(ctx, w.pool, "agent:main"); err != nil || name != "agent:main" {
		t.Errorf("name %q, error %v", name, err)
	}
}

func TestJoinNeverLowersARole(t *testing.T) {
	w := newWorld(t)
	u := w.user("u", policy.Guest)
	for _, c := range []struct{ join, want policy.Role }{
		{policy.User, policy.User}, {policy.Guest, policy.User}, {policy.Owner, policy.Owner}, {policy.User, policy.Owner}, {policy.Owner, policy.Owner},
	} {
		w.ok(w.tx(func(tx pgx.Tx) error { return identity.Join(ctx, tx, "main", u.ID, c.join, "test") }))
		if got := w.role(u); got != c.want {
			t.Errorf("after joining as %s: %s, want %s", c.join, got, c.want)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit_queue WHERE kind = 'member_joined'`); n != 3 {
		t.Errorf("%d joins recorded, want the 3 that changed something", n)
	}
}

func TestWordsForRoles(t *testing.T) {
	for word, ok := range map[string]bool{"owner": true, "user": true, "guest": true, "Owner": false, "admin": false, "": false} {
		_, err := identity.CheckRole(word)
		if ok && err != nil {
			t.Errorf("%q: %v", word, err)
		} else if !ok {
			refused(t, err, fault.Invalid, word)
		}
	}
}
