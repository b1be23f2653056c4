package identity_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func (w *world) key(agent, userID string, expires *time.Time) (text string) {
	w.t.Helper()
	w.ok(w.tx(func(tx pgx.Tx) (err error) {
		text, err = identity.CreateKey(ctx, tx, agent, userID, expires, "admin")
		return err
	}))
	return text
}

func prefixOf(key string) string { return strings.Split(key, "_")[2] }

func (w *world) revoke(prefix string) error {
	return w.tx(func(tx pgx.Tx) error { return identity.RevokeKey(ctx, tx, prefix, "admin") })
}

func TestAKeyIsShownOnceAndKeptAsAHash(t *testing.T) {
	w := newWorld(t)
	key := w.key("main", "", nil)
	if !regexp.MustCompile(`^holm_sk_[a-z2-7]{8}_[A-Za-z0-9_-]{32}$`).MatchString(key) || len(key) > 72 {
		t.Errorf("key %q", key)
	}
	if w.key("main", "", nil) == key {
		t.Error("two keys are one")
	}
	secret := strings.SplitN(key, "_", 4)[3]
	for _, table := range []string{"agent_keys", "audit_queue"} {
		if n := w.count(`SELECT count(*) FROM `+table+` t WHERE strpos(t::text, $1) > 0`, secret); n != 0 {
			t.Errorf("%s has the secret", table)
		}
	}
}

func TestKeysForNobodyAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range [][2]string{{"gone", ""}, {"main", "no such user"}} {
		err := w.tx(func(tx pgx.Tx) error {
			_, err := identity.CreateKey(ctx, tx, c[0], c[1], nil, "admin")
			return err
		})
		refused(t, err, fault.NotFound, c[0]+" "+c[1])
	}
}

func TestRevokingAndRotating(t *testing.T) {
	w := newWorld(t)
	w.agent("other")
	olga := w.user("olga", policy.Owner)
	first, bound, foreign := w.key("main", "", nil), w.key("main", olga.ID, nil), w.key("other", "", nil)

	w.ok(w.revoke("holm_sk_" + prefixOf(first)))
	refused(t, w.revoke(prefixOf(first)), fault.NotFound, "revoking twice")
	refused(t, w.revoke("nokey"), fault.NotFound, "an unknown prefix")

	var fresh string
	w.ok(w.tx(func(tx pgx.Tx) (err error) {
		fresh, err = identity.RotateKeys(ctx, tx, "main", "admin")
		return err
	}))
	refused(t, w.tx(func(tx pgx.Tx) error {
		_, err := identity.RotateKeys(ctx, tx, "gone", "admin")
		return err
	}), fault.NotFound, "an agent that is not there")

	live := map[string]bool{}
	for _, agent := range []string{"main", "other"} {
		keys, err := identity.ListKeys(ctx, w.pool, agent)
		w.ok(err)
		for _, k := range keys {
			live[k.Prefix] = k.RevokedAt == nil
		}
	}
	want := map[string]bool{prefixOf(first): false, prefixOf(bound): false, prefixOf(foreign): true, prefixOf(fresh): true}
	if diff := cmp.Diff(want, live); diff != "" {
		t.Errorf("live keys (-want +got):\n%s", diff)
	}
	if n := w.count(`SELECT count(DISTINCT data ->> 'prefix') FROM audit_queue WHERE kind = 'key_revoked'`); n != 2 {
		t.Errorf("%d revocations recorded, want 2", n)
	}
}
