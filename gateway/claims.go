package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"holm/approvals"
	"holm/internal/caught"
	"holm/internal/db"
)

// claims are the requests of which this process may be the claimer: from
// before it asks the database for the claim until the database knows the end.
// Nobody here claims one of them a second time, so that giving a doubtful claim
// back cannot take it from a call that runs.
type claims struct {
	mu   sync.Mutex
	byID map[string]*claim
}

type claim struct {
	// answered is closed when the database has answered; err is set before, where
	// it did not and the claim is in doubt.
	answered chan struct{}
	err      error
}

func newClaims() *claims { return &claims{byID: map[string]*claim{}} }

// enter gives a new claim, or waits for the answer to that of another call and
// gives nil.
func (c *claims) enter(id string) (*claim, error) {
	c.mu.Lock()
	other := c.byID[id]
	if other == nil {
		mine := &claim{answered: make(chan struct{})}
		c.byID[id] = mine
		c.mu.Unlock()
		return mine, nil
	}
	c.mu.Unlock()
	<-other.answered
	return nil, other.err
}

func (c *claims) leave(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, id)
}

// claim takes the approval for one execution of what is asked now, whether or not
// its caller leaves meanwhile. A claim that failed may have been committed all the same; nothing
// was sent, so it is given back.
func (g *Gateway) claim(ctx context.Context, waiting approvals.Request, ask approvals.Call) (approvals.Request, bool, error) {
	id := waiting.ID
	mine, err := g.claims.enter(id)
	if mine == nil {
		return approvals.Request{}, false, err
	}
	ctx = context.WithoutCancel(ctx)
	r, ok, err := g.askForClaim(ctx, waiting, ask)
	mine.err = err
	close(mine.answered)
	if errors.Is(err, approvals.ErrRulesChanged) {
		g.claims.leave(id)
		return r, false, err
	}
	if err != nil {
		g.settle(id, func() error { return g.Approvals.Release(ctx, id) })
		return r, false, err
	}
	if !ok {
		g.claims.leave(id)
	}
	return r, ok, nil
}

func (g *Gateway) askForClaim(ctx context.Context, waiting approvals.Request, ask approvals.Call) (_ approvals.Request, _ bool, err error) {
	defer caught.Err(g.Log, "claim", &err)
	return g.Approvals.Claim(ctx, waiting, ask)
}

// settlePause is the time between two tries to settle.
const settlePause = 500 * time.Millisecond

// settle tells the database how a claim ended: at once, or beside its caller
// for as long as the database is away. What this process cannot tell until it
// ends, others find: its claims then have an unknown outcome.
func (g *Gateway) settle(id string, tell func() error) {
	err := tell()
	if !db.IsUnavailable(err) {
		g.settled(id, err)
		return
	}
	g.running.beside(g.Log, func() {
		for last := false; !last && db.IsUnavailable(err); err = tell() {
			select {
			case <-g.closing:
				last = true
			case <-time.After(settlePause):
			}
		}
		g.settled(id, err)
	})
}

func (g *Gateway) settled(id string, err error) {
	g.claims.leave(id)
	if err != nil {
		g.Log.Error("the end of an approved call could not be stored", "approval_id", id, "error", err)
	}
}
