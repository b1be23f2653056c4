package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"holm/bot"
)

// Discord tells in each answer how many calls a route has left and until when;
// figures are not to be built in (docs.discord.com/developers/topics/rate-limits).
const (
	// patience is how long a caller may be held here before it is told to come
	// again instead, so that no worker sleeps for a busy chat.
	patience = 2 * time.Second
	// spare is how many calls of a route only what is urgent may use.
	spare = 1
	// maxRoutes bounds the memory.
	maxRoutes = 4096
	// unsaid is the wait after a 429 that does not tell how long.
	unsaid = 5 * time.Second
)

// limit is what an answer says of its route.
type limit struct {
	known  bool
	left   int
	until  time.Time
	global bool          // it holds for all routes
	after  time.Duration // of a 429
}

// limitOf reads an answer. A 429 counts whoever sent it: a proxy's has neither
// headers nor JSON.
func limitOf(h http.Header, status int, answer []byte, now time.Time) limit {
	left, errLeft := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, errReset := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
	l := limit{known: errLeft == nil && errReset == nil, left: left, until: now.Add(seconds(reset))}
	if status != http.StatusTooManyRequests {
		return l
	}
	var body struct {
		After  float64 `json:"retry_after"`
		Global bool    `json:"global"`
	}
	_ = json.Unmarshal(answer, &body)
	header, _ := strconv.ParseFloat(h.Get("Retry-After"), 64)
	after := max(seconds(body.After), seconds(header))
	if after <= 0 {
		after = unsaid
	}
	return limit{known: true, until: now.Add(after), after: after, global: body.Global || h.Get("X-RateLimit-Global") == "true"}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pacer holds calls back before Discord does.
type pacer struct {
	mu     sync.Mutex
	all    time.Time // until when nothing may be called
	routes map[string]limit
}

func newPacer() *pacer { return &pacer{routes: map[string]limit{}} }

// wait blocks until route may be called, or returns a *bot.RetryError when that
// would take too long. Nobody queues: who waits looks again, so that what asks
// for a decision is not behind the others.
func (p *pacer) wait(ctx context.Context, route string, urgent bool) error {
	if route == "" {
		return nil
	}
	latest := time.Now().Add(patience)
	for {
		now := time.Now()
		delay := p.take(route, urgent, now)
		if delay <= 0 {
			return ctx.Err()
		}
		if now.Add(delay).After(latest) {
			return &bot.RetryError{After: delay, Err: fmt.Errorf("discord: %s: to be left alone for now", route)}
		}
		if err := pause(ctx, delay); err != nil {
			return err
		}
	}
}

// take counts a call that may be made now, and else tells how long to wait.
func (p *pacer) take(route string, urgent bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := p.all.Sub(now); wait > 0 {
		return wait
	}
	l, ok := p.routes[route]
	if !ok || !now.Before(l.until) {
		delete(p.routes, route)
		return 0
	}
	need := 1
	if !urgent {
		need += spare
	}
	if l.left < need {
		return l.until.Sub(now)
	}
	l.left--
	p.routes[route] = l
	return 0
}

// heed notes what an answer said. Answers overtake each other, so within one
// window the fewest calls left count.
func (p *pacer) heed(route string, l limit) {
	if !l.known || route == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.global {
		p.all = l.until
		return
	}
	if len(p.routes) >= maxRoutes {
		p.forget(time.Now())
	}
	if had, ok := p.routes[route]; ok && time.Now().Before(had.until) {
		l.left = min(l.left, had.left)
	}
	p.routes[route] = l
}

// forget drops routes whose time is over, and any ones when these are too few:
// a call too early is answered with 429, which is obeyed.
func (p *pacer) forget(now time.Time) {
	for route, l := range p.routes {
		if !now.Before(l.until) {
			delete(p.routes, route)
		}
	}
	for route := range p.routes {
		if len(p.routes) < maxRoutes*3/4 {
			return
		}
		delete(p.routes, route)
	}
}
