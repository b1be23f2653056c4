package wake

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// deadFor is how long a process must have been seen without its connection
// before it counts as dead: it spares one that only connects anew, which takes
// a Hub a second at most once the database answers.
const deadFor = 3 * time.Second

// Deaths tells processes that have died from those that connect anew. It needs
// two looks at a process, some seconds apart. The zero value is ready, for
// concurrent use.
type Deaths struct {
	// After is for how long; the default is deadFor.
	After time.Duration

	mu    sync.Mutex
	since map[int64]time.Time
}

// Dead looks at a process.
func (d *Deaths) Dead(ctx context.Context, tx pgx.Tx, process int64) (bool, error) {
	alive, err := Alive(ctx, tx, process)
	return err == nil && d.seen(process, alive, time.Now()), err
}

// seen notes one look.
func (d *Deaths) seen(process int64, alive bool, now time.Time) (dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if alive {
		delete(d.since, process)
		return false
	}
	if d.since == nil {
		d.since = map[int64]time.Time{}
	}
	if _, known := d.since[process]; !known {
		d.since[process] = now
	}
	return now.Sub(d.since[process]) >= cmp.Or(d.After, deadFor)
}
