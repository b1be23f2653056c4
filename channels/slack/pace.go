package slack

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"holm/bot"
)

// Slack takes about one message a second in a channel and tolerates short
// bursts (docs.slack.dev/apis/web-api/rate-limits).
const (
	perChannel = rate.Limit(1)
	burst      = 5
	// patience is how long a caller may be held here before it is told to come
	// again instead, so that a worker is not blocked.
	patience = 2 * time.Second
)

// pace waits for channel's turn, or answers with a *bot.RetryError when the
// turn is too far away.
func (c *Channel) pace(ctx context.Context, channel string) error {
	pacer, ok := c.pacers.get(channel)
	if !ok {
		pacer = c.pacers.put(channel, rate.NewLimiter(perChannel, burst))
	}
	turn := pacer.Reserve()
	delay := turn.Delay()
	if delay > patience {
		turn.Cancel()
		return &bot.RetryError{After: delay, Err: fmt.Errorf("slack: too many messages in one chat")}
	}
	return pause(ctx, delay)
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
