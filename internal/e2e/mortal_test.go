package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/internal/crashpoint"
	"holm/internal/db"
	"holm/internal/db/dbtest"
	"holm/internal/identity"
	"holm/policy"
)

// mortal is a holm that ends itself at given points, once at each, and is
// started again each time, as a supervisor does.
type mortal struct {
	*process
	public *front
	pool   *pgxpool.Pool
	notes  string
	over   chan struct{}
	nurse  sync.WaitGroup
	risen  chan struct{} // closed when it lives again for the first time
	deaths []string      // what each life wrote, to its end
}

var mortalProgram = sync.OnceValues(func() (string, error) {
	target := filepath.Join(filepath.Dir(binaries.holm), "mortal")
	return target, build(target, "holm/cmd/holm", "-tags", "crashpoints")
})

func newMortal(t *testing.T, points []crashpoint.Point, env ...string) *mortal {
	t.Helper()
	program, err := mortalProgram()
	if err != nil {
		t.Fatal(err)
	}
	url := dbtest.URL(t)
	m := &mortal{public: newFront(t), notes: t.TempDir(), over: make(chan struct{}), risen: make(chan struct{})}
	if m.pool, err = db.Open(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.pool.Close)
	var at []string
	for _, p := range points {
		at = append(at, string(p))
	}
	m.process = startProgram(t, program, append(env, "HOLM_DATABASE_URL="+url,
		"CRASHPOINTS="+strings.Join(at, ","), "CRASHPOINT_NOTES="+m.notes))
	m.public.leadTo(m.process)
	m.nurse.Go(m.revive)
	t.Cleanup(func() {
		close(m.over)
		m.nurse.Wait()
		if !t.Failed() {
			return
		}
		for n, log := range m.deaths {
			t.Logf("life %d ended after:\n%s", n+1, log)
		}
	})
	return m
}

// revive starts the process again whenever it has ended.
func (m *mortal) revive() {
	risen := sync.OnceFunc(func() { close(m.risen) })
	for {
		select {
		case <-m.over:
			return
		case <-m.done:
		}
		m.public.target.Store(nil)
		m.deaths = append(m.deaths, m.log.String())
		if err := m.launch(); err == nil {
			m.public.leadTo(m.process)
			risen()
		}
	}
}

// gate keeps the process at a point until the function it gives is called. Call
// it before the point can be reached.
func (m *mortal) gate(p crashpoint.Point) (open func()) {
	m.t.Helper()
	path := filepath.Join(m.notes, string(p)+".go")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return func() {
		m.t.Helper()
		m.eventually(func() error { // nobody to read yet is an error
			fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				return fmt.Errorf("open the gate of %s: %w", p, err)
			}
			return syscall.Close(fd)
		})
	}
}

// keyFor is a key with which calls are made for a person of the agent main, who
// has a chat.
func (m *mortal) keyFor(a identity.Address, name string) (key string) {
	m.t.Helper()
	ctx := m.t.Context()
	err := db.InTx(ctx, m.pool, func(tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, a, name)
		if err != nil {
			return err
		}
		if err := identity.Join(ctx, tx, "main", user.ID, policy.User, "test"); err != nil {
			return err
		}
		key, err = identity.CreateKey(ctx, tx, "main", user.ID, nil, "test")
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return key
}

// ask makes a call as a client does that does what it is told: it calls again
// when the connection is lost, when Holm or its database is away, and while the
// answer is pending. One that is away in between does not wait for the answer,
// and calls again when Holm has died and lives again.
func (m *mortal) ask(key string, away bool, args map[string]any) <-chan reply {
	if !away {
		return insist(m.t.Context(), m.public.URL, key, args)
	}
	if got := attempt(m.t.Context(), m.public.URL, key, "0s", args); got.Kind != "APPROVAL_REQUIRED" {
		m.t.Fatalf("asked, and got %+v", got)
	}
	answer := make(chan reply, 1)
	go func() {
		select {
		case <-m.risen:
			answer <- <-insist(m.t.Context(), m.public.URL, key, args)
		case <-m.t.Context().Done():
		}
	}()
	return answer
}

// insist calls until the call has an end.
func insist(ctx context.Context, url, key string, args map[string]any) <-chan reply {
	answer := make(chan reply, 1)
	go func() {
		for {
			got := attempt(ctx, url, key, "30s", args)
			if got.Err == nil && got.Kind != "APPROVAL_REQUIRED" || ctx.Err() != nil {
				answer <- got
				return
			}
			if got.Err != nil {
				time.Sleep(20 * time.Millisecond)
			}
		}
	}()
	return answer
}

// attempt is one call in a session of its own.
func attempt(ctx context.Context, url, key, hold string, args map[string]any) reply {
	session, err := dial(ctx, url, "2025-11-25", key, hold)
	if err != nil {
		return reply{Err: err}
	}
	defer func() { _ = session.Close() }()
	return call(ctx, session, args)
}

// delivered waits until it is known where the card is.
func (m *mortal) delivered() {
	m.t.Helper()
	m.eventually(func() error {
		if m.count(`SELECT count(*) FROM card_deliveries WHERE state = 'sent'`) == 0 {
			return errors.New("the card is not known to be out")
		}
		return nil
	})
}

// settled waits until nothing that came is left to be handled, no card or message
// to be sent or edited, and the
// audit log has all there is.
func (m *mortal) settled() {
	m.t.Helper()
	m.eventually(func() error {
		if n := m.count(`SELECT count(*) FROM river.river_job WHERE queue IN ('inbox', 'cards') AND state IN ('available', 'running', 'retryable', 'scheduled')`); n > 0 {
			return fmt.Errorf("%d jobs are left", n)
		}
		if n := m.count(`SELECT count(*) FROM audit_queue`); n > 0 {
			return fmt.Errorf("%d audit records are not in the log", n)
		}
		if n := m.count(`SELECT count(*) FROM card_deliveries d JOIN approval_requests r ON r.id = d.request_id WHERE d.shown_version < r.version`); n > 0 {
			return errors.New("a card is behind")
		}
		return nil
	})
}

func (m *mortal) count(sql string, args ...any) (n int) {
	m.t.Helper()
	if err := m.pool.QueryRow(m.t.Context(), sql, args...).Scan(&n); err != nil {
		m.t.Fatal(err)
	}
	return n
}
