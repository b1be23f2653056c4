package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"holm/bot"
)

// Slack takes about one message a second in a channel and tolerates short
// bursts (docs.slack.dev/apis/web-api/rate-limits). What asks for a decision
// goes first: other messages leave some of the burst to it.
const (
	perChannel = rate.Limit(1)
	burst      = 5
	otherBurst = 3
	// patience is how long a caller may be held here before it is told to come
	// again instead, so that a worker is not blocked.
	patience = 2 * time.Second
)

// pace waits for channel's turn, or answers with a *bot.RetryError when the
// turn is too far away. Urgent is what asks for a decision.
func (c *Channel) pace(ctx context.Context, channel string, urgent bool) error {
	if !urgent {
		if err := c.turn(ctx, "other "+channel, otherBurst); err != nil {
			return err
		}
	}
	return c.turn(ctx, channel, burst)
}

func (c *Channel) turn(ctx context.Context, key string, most int) error {
	pacer, ok := c.pacers.get(key)
	if !ok {
		pacer = c.pacers.put(key, rate.NewLimiter(perChannel, most))
	}
	turn := pacer.Reserve()
	delay := turn.Delay()
	if delay > patience {
		turn.Cancel()
		return &bot.RetryError{After: delay, Err: fmt.Errorf("slack: too many messages in one chat")}
	}
	return pause(ctx, delay)
}

// limited is what Slack's rate limits count together: posts of one channel,
// and all calls of any other method (docs.slack.dev/apis/web-api/rate-limits).
func limited(method, channel string) string {
	if method == "chat.postMessage" {
		return method + " " + channel
	}
	return method
}

// openFor tells whether Slack takes calls now, by what it said before: a
// *bot.RetryError until a 429's time is over, so that others do not ask in vain.
func (c *Channel) openFor(key string) error {
	until, ok := c.closed.get(key)
	if !ok {
		return nil
	}
	if wait := time.Until(until); wait > 0 {
		return &bot.RetryError{After: wait, Err: fmt.Errorf("slack: %s is rate limited", key)}
	}
	c.closed.forget(key)
	return nil
}

// noteLimit remembers a 429.
func (c *Channel) noteLimit(key string, err error) {
	if after, ok := errors.AsType[*bot.RetryError](err); ok {
		c.closed.forget(key)
		c.closed.put(key, time.Now().Add(after.After))
	}
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
