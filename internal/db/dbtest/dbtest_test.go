package dbtest_test

import (
	"context"
	"testing"

	"holm/internal/db"
	"holm/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestDBIsMigratedAndOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 3 {
		pool := dbtest.DB(t)
		if waiting, err := db.Pending(context.Background(), pool); err != nil || waiting {
			t.Fatalf("Pending = %v, %v; want a migrated database", waiting, err)
		}
		if _, err := pool.Exec(context.Background(), `CREATE TABLE mine (a int)`); err != nil {
			t.Fatalf("a table of another test is here: %v", err)
		}
	}
}
