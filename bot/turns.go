package bot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

// turns let one job at a time send or edit a card, among all processes, so
// that an older state never overwrites a newer one. They are advisory locks of
// one session, which all cards of the process share: a connection for each
// would leave none to decide with while a platform is slow, and a transaction
// would be open for as long.
type turns struct {
	pool *pgxpool.Pool

	mu    sync.Mutex
	conn  *pgxpool.Conn // kept while any turn is taken
	taken map[string]struct{}
}

func newTurns(pool *pgxpool.Pool) *turns {
	return &turns{pool: pool, taken: map[string]struct{}{}}
}

const (
	// cardLock sets these locks apart from others.
	cardLock = 0x63617264 // "card"
	// lockTime bounds one look at the database. A call that is broken off would
	// close the session and lose all turns, so callers' contexts do not end it.
	lockTime = 5 * time.Second
	// busyPause is how soon a job looks again at a card that another works on.
	busyPause = 200 * time.Millisecond
)

// alone runs do when it is its turn with the card, and comes again soon when
// it is not.
func (t *turns) alone(ctx context.Context, card string, do func() error) error {
	mine, err := t.take(ctx, card)
	if err != nil {
		return fmt.Errorf("take turns for a card: %w", err)
	}
	if !mine {
		return river.JobSnooze(busyPause)
	}
	defer t.giveBack(ctx, card)
	return do()
}

func (t *turns) take(ctx context.Context, card string) (mine bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTime)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, busy := t.taken[card]; busy {
		return false, nil
	}
	if mine, err = t.lock(ctx, card); err != nil {
		t.dropConn(ctx)
		mine, err = t.lock(ctx, card) // the session may have ended long ago
	}
	if mine {
		t.taken[card] = struct{}{}
	}
	if err != nil {
		t.dropConn(ctx)
	}
	t.restWhenIdle()
	return mine, err
}

// lock is called with mu held.
func (t *turns) lock(ctx context.Context, card string) (mine bool, err error) {
	if err := t.connect(ctx); err != nil {
		return false, err
	}
	err = t.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended($1, $2))`, card, cardLock).Scan(&mine)
	return mine, err
}

// connect takes a connection, and on it once more the turns that a lost one
// had: what they do cannot be called back.
func (t *turns) connect(ctx context.Context) (err error) {
	if t.conn != nil {
		return nil
	}
	if t.conn, err = t.pool.Acquire(ctx); err != nil {
		return err
	}
	for card := range t.taken {
		if _, err := t.conn.Exec(ctx, `SELECT pg_try_advisory_lock(hashtextextended($1, $2))`, card, cardLock); err != nil {
			return err
		}
	}
	return nil
}

func (t *turns) giveBack(ctx context.Context, card string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTime)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, card)
	if t.conn == nil {
		return
	}
	if _, err := t.conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended($1, $2))`, card, cardLock); err != nil {
		t.dropConn(ctx)
	}
	t.restWhenIdle()
}

// dropConn ends a session that failed, and its locks with it.
func (t *turns) dropConn(ctx context.Context) {
	if t.conn != nil {
		_ = t.conn.Conn().Close(ctx)
		t.conn.Release()
		t.conn = nil
	}
}

func (t *turns) restWhenIdle() {
	if t.conn != nil && len(t.taken) == 0 {
		t.conn.Release()
		t.conn = nil
	}
}
