package identity_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var ctx = context.Background()

// world is a database with the agent main.
type world struct {
	t    *testing.T
	pool *pgxpool.Pool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, pool: dbtest.DB(t)}
	w.agent("main")
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tx(do func(pgx.Tx) error) error { return db.InTx(ctx, w.pool, do) }

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(ctx, sql, args...)
	w.ok(err)
}

func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	w.ok(w.pool.QueryRow(ctx, sql, args...).Scan(&n))
	return n
}

func (w *world) agent(name string) {
	w.t.Helper()
	w.ok(w.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(ctx, tx, name, "test")
		return err
	}))
}

// user makes a person at chat:<name>, with a role unless it is empty.
func (w *world) user(name string, role policy.Role) (u identity.User) {
	w.t.Helper()
	w.ok(w.tx(func(tx pgx.Tx) (err error) {
		if u, err = identity.EnsureUser(ctx, tx, chat(name), name); err != nil || role == "" {
			return err
		}
		return identity.Join(ctx, tx, "main", u.ID, role, "test")
	}))
	return u
}

// merge lets one user live on as another.
func (w *world) merge(from, into identity.User) {
	w.t.Helper()
	w.exec(`UPDATE users SET merged_into = $1 WHERE id = $2`, into.ID, from.ID)
}

func chat(name string) identity.Address { return identity.Address{Channel: "chat", Identity: name} }

func (w *world) role(u identity.User) policy.Role {
	w.t.Helper()
	role, err := identity.RoleOf(ctx, w.pool, "main", u.ID)
	w.ok(err)
	return role
}

// refused checks the kind of a failure.
func refused(t *testing.T, err error, kind fault.Kind, why string) {
	t.Helper()
	if e, ok := fault.As(err); !ok || e.Kind != kind {
		t.Errorf("%s: error %v, want kind %d", why, err, kind)
	}
}
