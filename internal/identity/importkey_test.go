package identity_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/bcrypt"

	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/fault"
	"holm/internal/identity"
)

func TestImportedKeysGoOnWorking(t *testing.T) {
	pool, ctx := dbtest.DB(t), t.Context()
	const key = "steer_sk_A7xK9mabcdefghijklmnopqrstuvwxyz"
	hash, err := bcrypt.GenerateFromPassword([]byte(key), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	take := func(prefix, hash string) error {
		return db.InTx(ctx, pool, func(tx pgx.Tx) error {
			return identity.ImportKey(ctx, tx, "main", prefix, hash, "test")
		})
	}
	if err := db.InTx(ctx, pool, func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(ctx, tx, "main", "test")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][2]string{{"steer_sk_A7", string(hash)}, {"holm_sk_A7xK9m", string(hash)}, {"steer_sk_A7xK9m", "plain"}, {"steer_sk_A7xK9m", "$2a$31$" + string(hash[7:])}} {
		if err := take(bad[0], bad[1]); !fault.Is(err, "invalid") {
			t.Errorf("%s with %.10s: %v, want a refusal", bad[0], bad[1], err)
		}
	}
	if err := take("steer_sk_A7xK9m", string(hash)); err != nil {
		t.Fatal(err)
	}
	if err := take("steer_sk_A7xK9m", string(hash)); !fault.Is(err, "exists") {
		t.Errorf("a second time: %v", err)
	}
	ring := identity.NewKeyring(pool)
	if c, err := ring.Authenticate(ctx, key, "a"); err != nil || c.AgentID != "main" {
		t.Errorf("the key gives %+v, %v", c, err)
	}
	for _, wrong := range []string{key[:40] + "0", key + "0", "steer_sk_A7xK9m"} {
		if _, err := ring.Authenticate(ctx, wrong, "b"); err == nil {
			t.Errorf("%s is let in", wrong)
		}
	}
}
