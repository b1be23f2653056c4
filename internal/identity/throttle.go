package identity

import (
	"crypto/hmac"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// throttle slows guessing: ten wrong keys at once, then one in six seconds for an
// address. The same wrong key again is no other guess: it is refused unseen and
// not counted, so that a client that keeps trying an old key does not shut its
// address for those behind it. It remembers a bounded number of addresses.
type throttle struct {
	mu     sync.Mutex
	byAddr map[string]*guesses
}

// guesses are the wrong keys that came from one address.
type guesses struct {
	pace *rate.Limiter
	// last are the newest, as a ring of their macs.
	last [wrongAtOnce]wrongKey
	next int
}

type wrongKey struct {
	mac []byte
	at  time.Time
}

const (
	throttledAddresses = 10_000

	wrongAtOnce = 10
	wrongEvery  = 6 * time.Second
	// lookAgain is when a wrong key is looked at anew: it may have been made
	// meanwhile. It is longer than wrongEvery, so that the address recovers.
	lookAgain = 2 * wrongEvery
)

func newThrottle() *throttle { return &throttle{byAddr: map[string]*guesses{}} }

func (t *throttle) blocked(addr string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.byAddr[addr]
	return g != nil && g.pace.Tokens() < 1
}

// refused tells whether this very key was found wrong from there just before.
func (t *throttle) refused(addr string, mac []byte, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.byAddr[addr]
	return g != nil && g.find(mac, now) != nil
}

// count takes a wrong key.
func (t *throttle) count(addr string, mac []byte, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.byAddr[addr]
	if g == nil {
		if len(t.byAddr) >= throttledAddresses {
			clear(t.byAddr)
		}
		g = &guesses{pace: rate.NewLimiter(rate.Every(wrongEvery), wrongAtOnce)}
		t.byAddr[addr] = g
	}
	if g.find(mac, now) == nil {
		g.pace.AllowN(now, 1)
		g.last[g.next] = wrongKey{mac: mac, at: now}
		g.next = (g.next + 1) % len(g.last)
	}
}

func (g *guesses) find(mac []byte, now time.Time) *wrongKey {
	for i := range g.last {
		if w := &g.last[i]; now.Sub(w.at) < lookAgain && hmac.Equal(w.mac, mac) {
			return w
		}
	}
	return nil
}
