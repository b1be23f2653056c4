package gateway

import (
	"log/slog"
	"sync"

	"holm/internal/caught"
	"holm/internal/fault"
)

// admission counts the calls that are being answered, with what they leave to
// do beside them, and ends the taking of new ones.
type admission struct {
	mu    sync.Mutex
	ended bool
	calls sync.WaitGroup
}

var errStopping = fault.New(fault.Unavailable, "stopping", "Holm is stopping, and this attempt executed nothing. Call again soon with the same arguments.")

// enter admits a call until leave; false once wait was called.
func (a *admission) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.calls.Add(1)
	}
	return !a.ended
}

func (a *admission) leave() { a.calls.Done() }

// beside does something for an admitted call that need not wait for it.
func (a *admission) beside(log *slog.Logger, do func()) {
	caught.Go(&a.calls, log, "beside a call", do)
}

// wait admits no more and returns when all that was admitted has left.
func (a *admission) wait() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.calls.Wait()
}
