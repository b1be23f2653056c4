package telegram

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"holm/bot"
)

// state is what is known of the connection.
type state struct {
	mu     sync.Mutex
	name   string // of the bot, without @; empty until learnt
	health bot.Health
}

// Health implements bot.Channel. LastEvent is when an update last arrived.
func (c *Channel) Health() bot.Health {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return c.state.health
}

func (c *Channel) setHealthy() {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	c.state.health.Connected, c.state.health.Error = true, ""
}

// setFailing keeps the failure for operators; connected stays true when
// Telegram answers and only something else is wrong.
func (c *Channel) setFailing(err error, connected bool) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	c.state.health.Connected, c.state.health.Error = connected, c.redact(err)
}

func (c *Channel) setReceived(at time.Time) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	c.state.health.LastEvent = at
}

// name is the bot's own user name, empty while unknown.
func (c *Channel) name() string {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return c.state.name
}

// id is the bot's own user id, the first part of its token.
func (c *Channel) id() int64 {
	id, _, _ := strings.Cut(c.token, ":")
	n, _ := strconv.ParseInt(id, 10, 64) // New has checked the form
	return n
}

// learnName asks Telegram who we are, once.
func (c *Channel) learnName(ctx context.Context) error {
	if c.name() != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	me, err := c.client.GetMe(ctx)
	if err != nil {
		return c.explain("ask for the bot's own name", err)
	}
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	c.state.name, c.state.health.Account = me.Username, "@"+me.Username
	return nil
}

// startForm is what a deep link can carry, core.telegram.org/bots/features#deep-linking.
var startForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// LinkFor implements bot.Linker. The link is empty while the bot's name cannot
// be learnt; the hint always works.
func (c *Channel) LinkFor(ctx context.Context, token string) (link, hint string) {
	hint = "send the bot: link " + token
	if !startForm.MatchString(token) || c.learnName(ctx) != nil {
		return "", hint
	}
	return fmt.Sprintf("https://t.me/%s?start=%s", c.name(), token), hint
}
