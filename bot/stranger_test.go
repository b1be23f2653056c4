package bot_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
)

func (w *world) access(level string) (token string) {
	w.t.Helper()
	w.tx(func(tx pgx.Tx) (err error) {
		token, err = identity.SetAccess(w.ctx, tx, "main", level, false, "admin")
		return err
	})
	return token
}

func (w *world) people() (n int) {
	w.t.Helper()
	if err := w.pool.QueryRow(w.ctx, `SELECT count(*) FROM agent_members`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestAPublicAgentTakesWhoWrites(t *testing.T) {
	w := newWorld(t)
	w.access(identity.Public)
	contains(t, w.says("una", "whoami"), "You are guest of agent main.")
	contains(t, w.says("una", "pending"), "Only an owner")
	if n := w.people(); n != 1 {
		t.Errorf("%d people", n)
	}
}

func TestAProtectedAgentAsksForItsToken(t *testing.T) {
	w := newWorld(t)
	token := w.access(identity.Protected)
	contains(t, w.says("una", "hello"), "asks for its access token", "start TOKEN", "chat:una")
	contains(t, w.says("una", "start "+strings.Repeat("x", 43)), "not valid")
	contains(t, w.says("una", strings.Repeat("x", 43)), "not valid")
	contains(t, w.saysAs("una", "start "+token, false), "only here")
	if n := w.people(); n != 0 {
		t.Fatalf("%d people", n)
	}
	contains(t, w.says("una", "/start "+token), "You are now guest of agent main")
	contains(t, w.says("ulf", token), "You are now guest of agent main")
	for range 10 {
		w.says("mallory", strings.Repeat("y", 43))
	}
	contains(t, w.says("mallory", token), "Too many wrong tokens")
	if n := w.people(); n != 2 {
		t.Errorf("%d people", n)
	}
}

func TestAPrivateAgentTurnsStrangersAway(t *testing.T) {
	w := newWorld(t)
	token := w.access(identity.Protected)
	w.access(identity.Private)
	contains(t, w.says("una", "hello"), "This bot is private", "chat:una")
	contains(t, w.says("una", "start "+token), "not valid")
	if n := w.people(); n != 0 {
		t.Errorf("%d people", n)
	}
}
