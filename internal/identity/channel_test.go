package identity_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
)

func (w *world) channel(agent, name, address string) (token string, err error) {
	err = w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.CreateChannel(ctx, tx, agent, name, address, "admin")
		return err
	})
	return token, err
}

func TestNamesOfChannels(t *testing.T) {
	w := newWorld(t)
	for name, kind := range map[string]fault.Kind{
		// A token for one of Holm's own could speak for anybody there.
		"telegram": fault.Invalid, "slack": fault.Invalid, "console": fault.Invalid,
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
