package secret_test

import (
	"testing"

	"holm/internal/db/dbtest"
	"holm/internal/secret"
)

func TestAnotherKeyIsNoticed(t *testing.T) {
	pool := dbtest.DB(t)
	for _, c := range []struct {
		key  string
		good bool
	}{{"the first secret key", true}, {"the first secret key", true}, {"quite another secret key", false}, {"the first secret key", true}} {
		keeper, err := secret.New(c.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := keeper.Check(t.Context(), pool); (err == nil) != c.good {
			t.Errorf("with %q: %v", c.key, err)
		}
	}
}
