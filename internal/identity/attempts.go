package identity

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"holm/internal/audit"
	"holm/internal/db"
)

// attempts puts failed authentications on record: for each address the first,
// and then at most one in a minute that counts those since. The log only grows,
// so all addresses together get a bounded share of it.
type attempts struct {
	mu     sync.Mutex
	byAddr map[string]*attempt
	all    *rate.Limiter
}

type attempt struct {
	failures int
	recorded time.Time
}

const recordAttemptsEvery = time.Minute

func newAttempts() *attempts {
	return &attempts{byAddr: map[string]*attempt{}, all: rate.NewLimiter(rate.Every(time.Second), 20)}
}

// due counts a failure and gives how many a record made now has to tell of; 0
// when none is due.
func (a *attempts) due(addr string, now time.Time) (failures int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.byAddr) >= throttledAddresses {
		clear(a.byAddr)
	}
	t := a.byAddr[addr]
	if t == nil {
		t = &attempt{}
		a.byAddr[addr] = t
	}
	t.failures++
	if now.Sub(t.recorded) < recordAttemptsEvery || !a.all.AllowN(now, 1) {
		return 0
	}
	failures, t.failures, t.recorded = t.failures, 0, now
	return failures
}

// record tells the audit log of a failure with a credential of some kind. That
// it cannot be written changes nothing for the caller, who is refused anyway.
func (a *attempts) record(ctx context.Context, q db.Queryer, addr, credential, prefix string) {
	failures := a.due(addr, time.Now())
	if failures == 0 {
		return
	}
	data := map[string]any{"address": addr, "failures": failures, "credential": credential}
	if prefix != "" {
		data["keyPrefix"] = prefix
	}
	_ = audit.Write(ctx, q, audit.Record{Kind: "authentication_failed", Actor: audit.Anonymous, Data: data})
}
