package discord

import (
	"sync"
	"time"

	"holm/bot"
)

// link is what is known of the connection to Discord.
type link struct {
	mu     sync.Mutex
	health bot.Health
}

// Health is connected from the moment the gateway took the session until its
// socket ends, which a missing heartbeat brings about.
func (c *Channel) Health() bot.Health {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.link.health
}

func (l *link) known(account string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health.Account = account
}

func (l *link) up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health.Connected, l.health.Error, l.health.LastEvent = true, "", time.Now()
}

func (l *link) delivered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health.LastEvent = time.Now()
}

// down notes the end of a socket; a nil err is an end without a fault.
func (l *link) down(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health.Connected = false
	if err != nil {
		l.health.Error = err.Error()
	}
}
