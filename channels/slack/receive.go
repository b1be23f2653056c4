package slack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holm/bot"
)

const (
	firstWait = 250 * time.Millisecond
	longWait  = 30 * time.Second
	// settled is how long a socket must have lived for its end to be ordinary:
	// Slack replaces each one after some hours.
	settled = 10 * time.Second
)

// Run keeps one socket open until ctx ends and stores all it brings. A socket
// that ends is replaced, after a wait that grows to 30 s while Slack fails.
// Where Slack calls by HTTP, Run asks from time to time whether the token still
// works. It returns an error only when Slack refuses a token or a scope
// (bot.ErrSetup).
func (c *Channel) Run(ctx context.Context, in bot.Inbox) error {
	defer c.http.CloseIdleConnections()
	k := newKeeper(ctx, c, in)
	defer k.wait()
	stay := func() error { return c.connect(ctx, k) }
	if c.events {
		stay = func() error { return c.watch(ctx) }
	}
	failures := 0
	for {
		began := time.Now()
		err := stay()
		if ctx.Err() != nil {
			c.link.down(nil)
			return nil
		}
		c.link.down(err)
		if errors.Is(err, bot.ErrSetup) {
			return fmt.Errorf("receive from slack: %w", err)
		}
		failures++
		if time.Since(began) > settled {
			failures = 0
		}
		if err != nil {
			c.log.Warn("slack connection ended", "error", err)
		}
		if pause(ctx, waitAfter(failures, err)) != nil {
			c.link.down(nil)
			return nil
		}
	}
}

// waitAfter doubles with each failure in a row, with a random part so that
// replicas do not return together. A rate limit is obeyed.
func waitAfter(failures int, err error) time.Duration {
	wait := min(firstWait<<min(failures, 10), longWait)
	wait = wait/2 + rand.N(wait/2)
	var limited *bot.RetryError
	if errors.As(err, &limited) {
		wait = max(wait, limited.After)
	}
	return wait
}

// connect opens one socket and serves it until it ends.
func (c *Channel) connect(ctx context.Context, k *keeper) error {
	if _, err := c.authenticate(ctx); err != nil {
		return err
	}
	return newSession(c, k).serve(ctx)
}

// lookEvery is how often a channel without a socket asks whether its token
// still works.
const lookEvery = 5 * time.Minute

// watch asks Slack who the token belongs to until that fails or ctx ends.
func (c *Channel) watch(ctx context.Context) error {
	for {
		if _, err := c.authenticate(ctx); err != nil {
			return err
		}
		c.link.hello()
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}
