package identity_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func (w *world) access(level string, rotate bool) (token string, err error) {
	err = w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.SetAccess(ctx, tx, "main", level, rotate, "admin")
		return err
	})
	return token, err
}

func (w *world) admit(who string) error {
	return w.tx(func(tx pgx.Tx) error {
		_, err := identity.Admit(ctx, tx, "main", chat(who), who)
		return err
	})
}

func TestAnAccessTokenMakesGuestsWhileItHolds(t *testing.T) {
	w := newWorld(t)
	first, err := w.access(identity.Protected, false)
	w.ok(err)
	for _, who := range []string{"una", "ulf", "una"} {
		m, err := w.redeem(first, who)
		if err != nil || m.Role != policy.Guest || m.AgentID != "main" {
			t.Errorf("%s: %+v, error %v", who, m, err)
		}
	}
	owner := w.user("olga", policy.Owner)
	if m, err := w.redeem(first, "olga"); err != nil || m.Role != policy.Owner || w.role(owner) != policy.Owner {
		t.Errorf("an owner: %+v, error %v", m, err)
	}
	if again, err := w.access(identity.Protected, false); err != nil || again != "" {
		t.Errorf("protecting it again gives %q, error %v", again, err)
	}
	if _, err := w.redeem(first, "uwe"); err != nil {
		t.Errorf("the token fell: %v", err)
	}
	second, err := w.access("", true)
	w.ok(err)
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"rotated", func() {}},
		{"public", func() { _, err = w.access(identity.Public, false) }},
		{"private", func() { _, err = w.access(identity.Private, false) }},
		{"protected anew", func() { _, err = w.access(identity.Protected, false) }},
	} {
		c.do()
		w.ok(err)
		if _, err := w.redeem(first, "mallory"); err == nil {
			t.Errorf("%s: the first token works", c.name)
		}
		if c.name == "rotated" {
			continue
		}
		if _, err := w.redeem(second, "mallory"); err == nil {
			t.Errorf("%s: the second token works", c.name)
		}
	}
	if n := w.count(`SELECT count(*) FROM audit_queue WHERE strpos(data::text, $1) > 0 OR strpos(data::text, $2) > 0`, first, second); n != 0 {
		t.Error("a token is in the audit log")
	}
}

func TestAccessThatCannotBeSet(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		level  string
		rotate bool
	}{"no level": {"open", false}, "capitals": {"Public", false}, "a token for a private one": {"", true}, "a token for a public one": {identity.Public, true}} {
		_, err := w.access(c.level, c.rotate)
		refused(t, err, fault.Invalid, name)
	}
	refused(t, w.tx(func(tx pgx.Tx) error {
		_, err := identity.SetAccess(ctx, tx, "gone", identity.Public, false, "admin")
		return err
	}), fault.NotFound, "an agent that is not there")
}

func TestOnlyAPublicAgentAdmits(t *testing.T) {
	w := newWorld(t)
	refused(t, w.admit("una"), fault.Forbidden, "a private one")
	_, err := w.access(identity.Protected, false)
	w.ok(err)
	refused(t, w.admit("una"), fault.Forbidden, "a protected one")
	if n := w.count(`SELECT count(*) FROM users`); n != 0 {
		t.Error("who was turned away is stored")
	}
	_, err = w.access(identity.Public, false)
	w.ok(err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := w.admit("una"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	owner := w.user("olga", policy.Owner)
	w.ok(w.admit("olga"))
	if n := w.count(`SELECT count(*) FROM agent_members WHERE role = 'guest'`); n != 1 || w.role(owner) != policy.Owner {
		t.Errorf("%d guests, the owner is %q", n, w.role(owner))
	}
}

func TestWrongTokensAreCounted(t *testing.T) {
	w := newWorld(t)
	good := w.invite(policy.User)
	try := func(who, token string) error {
		return identity.Try(ctx, w.pool, chat(who), func() error {
			_, err := w.redeem(token, who)
			return err
		})
	}
	w.ok(try("olga", good))
	w.ok(try("olga", good)) // right ones do not count
	var wrong, throttled atomic.Int64
	var wg sync.WaitGroup
	for i := range 25 {
		wg.Go(func() {
			err := try("mallory", fmt.Sprint("guess ", i))
			switch {
			case fault.Is(err, "throttled"):
				throttled.Add(1)
			case fault.Is(err, "invite_invalid"):
				wrong.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wrong.Load() != 10 || throttled.Load() != 15 {
		t.Errorf("%d tries were looked at, %d were not", wrong.Load(), throttled.Load())
	}
	if err := try("mallory", w.invite(policy.User)); !fault.Is(err, "throttled") {
		t.Errorf("a right one after that: %v", err)
	}
	if err := try("una", w.invite(policy.User)); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	w.exec(`UPDATE token_tries SET since = now() - interval '11 minutes'`)
	w.ok(try("mallory", w.invite(policy.User)))
}
