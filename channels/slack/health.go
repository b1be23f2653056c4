package slack

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"holm/bot"
)

// silence is how long a socket may be quiet and still count as connected;
// Slack pings every few seconds.
const silence = 45 * time.Second

// link is what is known of the connection to Slack.
type link struct {
	mu      sync.Mutex
	account string
	up      bool
	heard   time.Time
	// steady is a link that nobody pings: Slack calls when there is something.
	steady    bool
	lastEvent time.Time
	problem   string
	refusals  map[string]string // by method, what the app's set-up does not allow
}

// Health is connected while the socket said hello and is heard since, or, where
// Slack calls by HTTP, while the token works.
func (c *Channel) Health() bot.Health { return c.link.health(time.Now()) }

func (l *link) health(now time.Time) bot.Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bot.Health{
		Connected: l.up && (l.steady || now.Sub(l.heard) < silence),
		Account:   l.account,
		LastEvent: l.lastEvent,
		Error:     cmp.Or(l.problem, l.refusal()),
	}
}

// refusal is the first of the refusals, empty when all is allowed.
func (l *link) refusal() string {
	for _, method := range slices.Sorted(maps.Keys(l.refusals)) {
		return l.refusals[method]
	}
	return ""
}

func (l *link) forbidden(method string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals == nil {
		l.refusals = map[string]string{}
	}
	l.refusals[method] = err.Error()
}

func (l *link) allowed(method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refusals, method)
}

func (l *link) known(account string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account = account
}

func (l *link) hello() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up, l.problem, l.heard = true, "", time.Now()
	if !l.steady {
		l.lastEvent = l.heard
	}
}

// alive notes that bytes arrived, a ping at least.
func (l *link) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = time.Now()
}

func (l *link) delivered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastEvent = time.Now()
}

// down notes the end of a socket; a nil err is an end without a fault.
func (l *link) down(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = false
	if err != nil {
		l.problem = err.Error()
	}
}

// failed notes a problem that leaves the socket as it is.
func (l *link) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problem = err.Error()
}

// recovered ends the problem that failed noted.
func (l *link) recovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up {
		l.problem = ""
	}
}
