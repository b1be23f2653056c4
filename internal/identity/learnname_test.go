package identity_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
)

func TestNamesAreLearntOnce(t *testing.T) {
	pool, ctx := dbtest.DB(t), t.Context()
	address := identity.Address{Channel: "slack", Identity: "T01/U02"}
	err := db.InTx(ctx, pool, func(tx pgx.Tx) error {
		_, err := identity.EnsureUser(ctx, tx, address, "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ given, want string }{
		{"", "slack:T01/U02"}, {" \x00", "slack:T01/U02"},
		{strings.Repeat("é", 200), strings.Repeat("é", 100)}, {"Mallory", strings.Repeat("é", 100)},
	} {
		if err := identity.LearnName(ctx, pool, address, c.given); err != nil {
			t.Fatal(err)
		}
		user, _, err := identity.FindUser(ctx, pool, address)
		if err != nil || user.Name != c.want {
			t.Errorf("after %.10q the name is %.20q (%v), want %.20q", c.given, user.Name, err, c.want)
		}
	}
}
