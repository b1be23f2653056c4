package identity_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/wake"
	"holm/policy"
)

// patience is far beyond what anything here takes.
const patience = 20 * time.Second

func TestWhatAKeyIsWorth(t *testing.T) {
	w := newWorld(t)
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	good, revoked := w.key("main", "", nil), w.key("main", "", nil)
	w.ok(w.revoke(prefixOf(revoked)))
	long := good + strings.Repeat("x", 73-len(good))
	for name, c := range map[string]struct {
		key string
		ok  bool
	}{
		"a good key":              {good, true},
		"one with a late expiry":  {w.key("main", "", &future), true},
		"expired":                 {w.key("main", "", &past), false},
		"revoked":                 {revoked, false},
		"another secret":          {good[:len(good)-1] + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(good, "a")], false},
		"cut":                     {good[:len(good)-1], false},
		"continued":               {good + "a", false},
		"continued beyond bcrypt": {long, false},
		"no secret":               {"holm_sk_" + prefixOf(good) + "_", false},
		"prefix only":             {"holm_sk_" + prefixOf(good), false},
		"unknown prefix":          {"holm_sk_aaaaaaaa_secret", false},
		"bytes that are no text":  {"holm_sk_\xff\xfe\x00aaaaa_secret", false},
		"another scheme":          {"steer" + good[4:], false},
		"capitals":                {strings.ToUpper(good), false},
		"nothing":                 {"", false},
	} {
		caller, err := identity.NewKeyring(w.pool).Authenticate(ctx, c.key, "addr")
		if c.ok && (err != nil || caller.AgentID != "main" || caller.KeyPrefix != prefixOf(c.key) || caller.UserID != "") {
			t.Errorf("%s: caller %+v, error %v", name, caller, err)
		}
		if !c.ok {
			refused(t, err, fault.Unauthenticated, name)
			if !fault.Is(err, "invalid_key") {
				t.Errorf("%s: %v, want the same answer as for all bad keys", name, err)
			}
		}
	}
}

func TestWhoAKeySpeaksFor(t *testing.T) {
	w := newWorld(t)
	old, live := w.user("old", policy.Owner), w.user("live", policy.Guest)
	k := identity.NewKeyring(w.pool)
	bare, err := k.Authenticate(ctx, w.key("main", "", nil), "addr")
	w.ok(err)
	if bare.RequesterID() != "agent:main" {
		t.Errorf("a bare key asks as %s", bare.RequesterID())
	}
	key := w.key("main", old.ID, nil)
	before, err := k.Authenticate(ctx, key, "addr")
	w.ok(err)
	w.merge(old, live)
	k.Forget()
	after, err := k.Authenticate(ctx, key, "addr")
	w.ok(err)
	if before.RequesterID() != old.ID || after.RequesterID() != live.ID {
		t.Errorf("asks as %s, after the merge as %s", before.RequesterID(), after.RequesterID())
	}
	principal, err := identity.PrincipalOf(ctx, w.pool, after)
	w.ok(err)
	if principal.UserID != live.ID || principal.Role != policy.Owner {
		t.Errorf("principal %+v, want the live user with the higher role", principal)
	}
}

func TestARevokedKeyDies(t *testing.T) {
	for name, tell := range map[string]func(*testing.T, *world, *identity.Keyring){
		"at once when told": func(_ *testing.T, _ *world, k *identity.Keyring) { k.Forget() },
		"by the notice": func(t *testing.T, w *world, k *identity.Keyring) {
			hub := wake.New(w.pool, slog.New(slog.NewTextHandler(io.Discard, nil)))
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- k.Run(ctx, hub) }()
			t.Cleanup(func() { cancel(); w.ok(<-done) })
			hub.Publish(identity.KeysChanged)
		},
		"soon when nobody tells": func(*testing.T, *world, *identity.Keyring) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := identity.NewKeyring(w.pool)
			key := w.key("main", "", nil)
			_, err := k.Authenticate(ctx, key, "addr")
			w.ok(err)
			w.ok(w.revoke(prefixOf(key)))
			tell(t, w, k)
			_, err = k.Authenticate(ctx, key, "addr")
			if err == nil && name == "at once when told" {
				t.Fatal("it lives")
			}
			for deadline := time.Now().Add(patience); err == nil; _, err = k.Authenticate(ctx, key, "addr") {
				if time.Now().After(deadline) {
					t.Fatal("it lives")
				}
			}
			refused(t, err, fault.Unauthenticated, name)
		})
	}
}

// What is remembered belongs to the row as it was.
func TestAKeyIsProvenAnewWhenItsRowChanges(t *testing.T) {
	w := newWorld(t)
	k := identity.NewKeyring(w.pool)
	key := w.key("main", "", nil)
	for range 2 {
		_, err := k.Authenticate(ctx, key, "addr")
		w.ok(err)
		k.Forget()
	}
	other, err := bcrypt.GenerateFromPassword([]byte("holm_sk_aaaaaaaa_other"), bcrypt.MinCost)
	w.ok(err)
	w.exec(`UPDATE agent_keys SET hash = $1`, string(other))
	_, err = k.Authenticate(ctx, key, "addr")
	refused(t, err, fault.Unauthenticated, "the old text")
}

// A client that keeps sending one wrong key, and one that sends no key at all,
// do not shut out others behind their address.
func TestOneWrongKeyShutsOutNobody(t *testing.T) {
	w := newWorld(t)
	k := identity.NewKeyring(w.pool)
	fresh := w.key("main", "", nil)
	for i := range 100 {
		for _, wrong := range []string{"holm_sk_aaaaaaaa_old", "no key", fresh + "x"} {
			if _, err := k.Authenticate(ctx, wrong, "office"); !fault.Is(err, "invalid_key") {
				t.Fatalf("try %d of %s: %v", i+1, wrong, err)
			}
		}
	}
	if _, err := k.Authenticate(ctx, fresh, "office"); err != nil {
		t.Errorf("a good key from there: %v", err)
	}
}

func TestGuessingIsSlowed(t *testing.T) {
	w := newWorld(t)
	k := identity.NewKeyring(w.pool)
	proven, fresh := w.key("main", "", nil), w.key("main", "", nil)
	_, err := k.Authenticate(ctx, proven, "guesser")
	w.ok(err)
	for i := range 10 {
		_, err := k.Authenticate(ctx, fmt.Sprintf("holm_sk_aaaaaaa%c_guess", 'a'+i), "guesser")
		if !fault.Is(err, "invalid_key") {
			t.Fatalf("guess %d: %v", i+1, err)
		}
	}
	if _, err := k.Authenticate(ctx, "holm_sk_bbbbbbbb_guess", "guesser"); !fault.Is(err, "throttled") {
		t.Errorf("guess 11: %v, want it refused unseen", err)
	}
	if _, err := k.Authenticate(ctx, fresh, "guesser"); !fault.Is(err, "throttled") {
		t.Errorf("a key that this process does not know yet, from there: %v", err)
	}
	k.Forget()
	if _, err := k.Authenticate(ctx, proven, "guesser"); err != nil {
		t.Errorf("a neighbour with a proven key: %v", err)
	}
	if _, err := k.Authenticate(ctx, fresh, "elsewhere"); err != nil {
		t.Errorf("another address: %v", err)
	}
}

// A fault of the database is none of the key's.
func TestADatabaseThatFailsRefusesNobodyForGood(t *testing.T) {
	w := newWorld(t)
	k := identity.NewKeyring(w.pool)
	key := w.key("main", "", nil)
	w.exec(`ALTER TABLE agent_keys RENAME TO away`)
	for range 12 {
		if _, err := k.Authenticate(ctx, key, "addr"); err == nil || fault.Is(err, "invalid_key") || fault.Is(err, "throttled") {
			t.Fatalf("%v, want the database's error", err)
		}
	}
	w.exec(`ALTER TABLE away RENAME TO agent_keys`)
	_, err := k.Authenticate(ctx, key, "addr")
	w.ok(err)
}
