package identity_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func (w *world) invite(role policy.Role) (token string) {
	w.t.Helper()
	w.ok(w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.CreateInvite(ctx, tx, "main", role, "admin")
		return err
	}))
	return token
}

func (w *world) redeem(token, who string) (m identity.Membership, err error) {
	err = w.tx(func(tx pgx.Tx) (err error) {
		m, err = identity.Redeem(ctx, tx, token, chat(who), who)
		return err
	})
	return m, err
}

func TestAnInvitationWorksOnceAndForOne(t *testing.T) {
	w := newWorld(t)
	token := w.invite(policy.Owner)
	for range 2 {
		m, err := w.redeem(token, "olga")
		if err != nil || m.AgentID != "main" || m.Role != policy.Owner || m.User.Name != "olga" {
			t.Errorf("membership %+v, error %v", m, err)
		}
	}
	_, err := w.redeem(token, "mallory")
	refused(t, err, fault.Gone, "another person")
	if n := w.count(`SELECT count(*) FROM users`); n != 1 {
		t.Errorf("%d users: the refused one was stored", n)
	}
	if n := w.count(`SELECT count(*) FROM link_tokens t WHERE strpos(t::text, $1) > 0`, token); n != 0 {
		t.Error("the token is stored")
	}
}

func TestInvitationsThatAreNoneAnyMore(t *testing.T) {
	w := newWorld(t)
	expired := w.invite(policy.Owner)
	w.exec(`UPDATE link_tokens SET expires_at = now()`)
	for name, token := range map[string]string{"expired": expired, "unknown": "x", "empty": ""} {
		_, err := w.redeem(token, "olga")
		refused(t, err, fault.Gone, name)
	}
	refused(t, w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateInvite(ctx, tx, "gone", policy.User, "admin")
		return err
	}), fault.NotFound, "an agent that is not there")
}

func TestAnInvitationNeverLowersARole(t *testing.T) {
	w := newWorld(t)
	olga := w.user("olga", policy.Owner)
	m, err := w.redeem(w.invite(policy.Guest), "olga")
	if err != nil || m.Role != policy.Owner || w.role(olga) != policy.Owner {
		t.Errorf("told %q, is %q, error %v", m.Role, w.role(olga), err)
	}
}

// An old link must not bring back what was taken away.
func TestAUsedInvitationGivesNothingAnew(t *testing.T) {
	w := newWorld(t)
	token := w.invite(policy.Owner)
	m, err := w.redeem(token, "olga")
	w.ok(err)
	w.exec(`UPDATE agent_members SET role = 'guest'`)
	if again, err := w.redeem(token, "olga"); err != nil || again.Role != policy.Guest || w.role(m.User) != policy.Guest {
		t.Errorf("after a demotion: %+v, is %q, error %v", again, w.role(m.User), err)
	}
	w.exec(`DELETE FROM agent_members`)
	_, err = w.redeem(token, "olga")
	refused(t, err, fault.Gone, "after a removal")
	if got := w.role(m.User); got != "" {
		t.Errorf("is %q again", got)
	}
}

func TestManyPeopleWithOneInvitation(t *testing.T) {
	w := newWorld(t)
	token := w.invite(policy.User)
	var joined atomic.Int64
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if _, err := w.redeem(token, string(rune('a'+i))); err == nil {
				joined.Add(1)
			} else if !fault.Is(err, "invite_invalid") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := w.count(`SELECT count(*) FROM agent_members`); joined.Load() != 1 || n != 1 {
		t.Errorf("%d were told they joined, %d did", joined.Load(), n)
	}
}
