package identity_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/secret"
)

func (w *world) channel(agent, name, address string) (token string, err error) {
	err = w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.CreateChannel(ctx, tx, agent, name, address, 0, "admin")
		return err
	})
	return token, err
}

func TestNamesOfChannels(t *testing.T) {
	w := newWorld(t)
	for name, kind := range map[string]fault.Kind{
		// A token for one of Holm's own could speak for anybody there.
		"telegram": fault.Invalid, "slack": fault.Invalid, "discord": fault.Invalid, "console": fault.Invalid,
		"Telegram": fault.Invalid, "telegram ": fault.Invalid, "": fault.Invalid, "2x": fault.Invalid, "-x": fault.Invalid,
		"a:b": fault.Invalid, "a/b": fault.Invalid, "a\n": fault.Invalid, "a\x00": fault.Invalid, "ä": fault.Invalid,
		strings.Repeat("a", 33): fault.Invalid,
	} {
		_, err := w.channel("main", name, "https://adapter")
		refused(t, err, kind, name)
	}
	for _, name := range []string{"a", "matrix-2", strings.Repeat("a", 32)} {
		if _, err := w.channel("main", name, "https://adapter"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := w.channel("main", "matrix-2", "https://adapter")
	refused(t, err, fault.Conflict, "a name that is taken")
	_, err = w.channel("gone", "matrix", "https://adapter")
	refused(t, err, fault.NotFound, "an agent that is not there")
}

func TestAChannelsTokenSpeaksForItUntilItIsRemoved(t *testing.T) {
	w := newWorld(t)
	token, err := w.channel("main", "matrix", "https://adapter")
	w.ok(err)
	agent, namespace, err := identity.FindChannel(ctx, w.pool, token)
	if agent != "main" || namespace != "matrix" || err != nil {
		t.Errorf("it speaks for %s on %s, error %v", agent, namespace, err)
	}
	for name, bad := range map[string]string{"nothing": "", "another": "holm_ch_x", "cut": token[:len(token)-1]} {
		_, _, err := identity.FindChannel(ctx, w.pool, bad)
		refused(t, err, fault.Unauthenticated, name)
	}
	if n := w.count(`SELECT count(*) FROM channels c WHERE strpos(c::text, $1) > 0`, token); n != 0 {
		t.Error("the token is stored")
	}
	remove := func() error {
		return w.tx(func(tx pgx.Tx) error { return identity.RemoveChannel(ctx, tx, "matrix", "admin") })
	}
	w.ok(remove())
	refused(t, remove(), fault.NotFound, "removing it twice")
	_, _, err = identity.FindChannel(ctx, w.pool, token)
	refused(t, err, fault.Unauthenticated, "after the removal")
}

func TestOwnChannelsAreSealedAndOnePerNamespace(t *testing.T) {
	w := newWorld(t)
	keeper, err := secret.New("a secret key for tests")
	w.ok(err)
	add := func(c identity.OwnChannel) error {
		return w.tx(func(tx pgx.Tx) error { return identity.AddOwnChannel(ctx, tx, keeper, c, "admin") })
	}
	telegram := identity.OwnChannel{Namespace: "telegram", AgentID: "main", Mode: "webhook", Secrets: map[string]string{"token": "1:s3cret"}}
	w.ok(add(telegram))
	refused(t, add(telegram), fault.Conflict, "a second one")
	refused(t, add(identity.OwnChannel{Namespace: "matrix", AgentID: "main"}), fault.Invalid, "none of Holm's own")
	refused(t, add(identity.OwnChannel{Namespace: "console", AgentID: "main"}), fault.Invalid, "the terminal")
	refused(t, add(identity.OwnChannel{Namespace: "slack", AgentID: "gone"}), fault.NotFound, "an agent that is not there")
	for _, table := range []string{"channels", "audit_queue"} {
		if n := w.count(`SELECT count(*) FROM ` + table + ` c WHERE strpos(c::text, 's3cret') > 0 OR strpos(c::text, encode('s3cret', 'hex')) > 0`); n != 0 {
			t.Errorf("the secret stands in %s", table)
		}
	}
	list, err := identity.OwnChannels(ctx, w.pool, keeper)
	w.ok(err)
	if len(list) != 1 || list[0].Secrets["token"] != "1:s3cret" || list[0].Mode != "webhook" || list[0].AgentID != "main" {
		t.Errorf("stored: %+v", list)
	}
	other, err := secret.New("another secret key for tests")
	w.ok(err)
	if _, err := identity.OwnChannels(ctx, w.pool, other); err == nil {
		t.Error("it opens with another key")
	}
	if external, err := identity.ListChannels(ctx, w.pool); err != nil || len(external) != 0 {
		t.Errorf("it passes for one that runs outside: %v, %v", external, err)
	}
	w.ok(w.tx(func(tx pgx.Tx) error { return identity.RemoveChannel(ctx, tx, "telegram", "admin") }))
	w.ok(add(telegram))
}

// TestRotatingKeepsWhatIsNotNamed: secrets that were not named stay, and nothing
// changes where the whole would not work.
func TestRotatingKeepsWhatIsNotNamed(t *testing.T) {
	w := newWorld(t)
	keeper, err := secret.New("a secret key of some length")
	w.ok(err)
	w.ok(w.tx(func(tx pgx.Tx) error {
		return identity.AddOwnChannel(ctx, tx, keeper, identity.OwnChannel{
			Namespace: "slack", AgentID: "main", Mode: "socket", Secrets: map[string]string{"bot_token": "b1", "app_token": "a1"},
		}, "admin")
	}))
	stored := func() identity.OwnChannel {
		t.Helper()
		list, err := identity.OwnChannels(ctx, w.pool, keeper)
		w.ok(err)
		return list[0]
	}
	rotate := func(check error, mode *string, secrets map[string]string) error {
		return w.tx(func(tx pgx.Tx) error {
			return identity.RotateOwnChannel(ctx, tx, keeper, identity.OwnChannelChange{Namespace: "slack", Mode: mode, Secrets: secrets},
				func(identity.OwnChannel) error { return check }, "admin")
		})
	}
	before := stored()
	refused(t, rotate(fault.Invalidf("no"), nil, map[string]string{"bot_token": "b2"}), fault.Invalid, "what cannot work")
	if now := stored(); now.Version != before.Version || now.Secrets["bot_token"] != "b1" {
		t.Errorf("a refused change is stored: %+v", now)
	}
	w.ok(rotate(nil, nil, map[string]string{"bot_token": "b2"}))
	one := stored()
	if one.Version == before.Version || one.Secrets["bot_token"] != "b2" || one.Secrets["app_token"] != "a1" || one.Mode != "socket" {
		t.Errorf("got %+v", one)
	}
	w.ok(rotate(nil, new("events"), map[string]string{"app_token": "", "signing_secret": "s1"}))
	if now := stored(); now.Mode != "events" || len(now.Secrets) != 2 || now.Secrets["signing_secret"] != "s1" || !now.CreatedAt.Equal(before.CreatedAt) {
		t.Errorf("got %+v", now)
	}
	_, err = w.channel("main", "matrix", "https://adapter")
	w.ok(err)
	_, err = w.rotated("slack")
	refused(t, err, fault.Invalid, "one of Holm's own without secrets")
	_, err = w.rotated("nothing")
	refused(t, err, fault.NotFound, "one that is not there")
	token, err := w.rotated("matrix")
	w.ok(err)
	if _, namespace, err := identity.FindChannel(ctx, w.pool, token); namespace != "matrix" || err != nil {
		t.Errorf("it speaks for %q, error %v", namespace, err)
	}
}

func (w *world) rotated(name string) (token string, err error) {
	err = w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.RotateChannel(ctx, tx, name, "admin")
		return err
	})
	return token, err
}
