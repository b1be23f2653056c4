package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"holm/approvals"
	"holm/internal/db"
)

// rereadEvery covers a wake-up that was lost.
const rereadEvery = 2 * time.Second

// await holds a call until its request is decided and free to be claimed, has
// ended, or the caller's time is up. The wait belongs to the connection; the
// request lives on without it. A caller beyond the cap does not wait.
func (g *Gateway) await(ctx context.Context, c *toolCall, r approvals.Request, deadline time.Time) (approvals.Request, error) {
	if r.Status != approvals.Pending && !r.Executing() {
		return r, nil
	}
	if time.Until(deadline) <= 0 || !g.holds.enter(c.caller.KeyPrefix) {
		return r, nil
	}
	defer g.holds.leave(c.caller.KeyPrefix)
	waiter := g.Hub.Wait(approvals.Key(r.ID), approvals.Key(r.Question())) // the one that runs for a duplicate
	defer waiter.Close()
	var told atomic.Pointer[approvals.Request]
	asked := r
	told.Store(&asked)
	defer c.wait(told.Load)()

	budget := time.NewTimer(time.Until(deadline))
	defer budget.Stop()
	for {
		now, err := g.Approvals.Current(ctx, r.ID)
		switch {
		case db.IsUnavailable(err): // it comes back, and the request lives on
		case err != nil:
			return r, err
		default:
			r = now
			told.Store(&now)
		}
		if r.Status != approvals.Pending && !r.Executing() {
			return r, nil
		}
		select {
		case <-waiter.C:
		case <-time.After(min(rereadEvery, max(r.ExpiresAt.Sub(r.ReadAt), 10*time.Millisecond))):
		case <-budget.C:
			return r, nil
		case <-g.closing:
			return r, nil
		case <-c.gone:
			return r, nil
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

// holds counts waiting calls.
type holds struct {
	total, perKey int

	mu    sync.Mutex
	all   int
	byKey map[string]int
}

func newHolds(total, perKey int) *holds {
	return &holds{total: total, perKey: perKey, byKey: map[string]int{}}
}

func (h *holds) enter(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all >= h.total || h.byKey[key] >= h.perKey {
		return false
	}
	h.all++
	h.byKey[key]++
	return true
}

func (h *holds) leave(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all--
	if h.byKey[key]--; h.byKey[key] == 0 {
		delete(h.byKey, key)
	}
}
