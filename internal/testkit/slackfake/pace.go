package slackfake

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// tiers are calls a minute (docs.slack.dev/apis/web-api/rate-limits);
// chat.postMessage has a limit of its own, one a second in each channel.
var tiers = map[string]int{
	"apps.connections.open": 1,
	"chat.delete":           50,
	"chat.postEphemeral":    100,
	"chat.update":           50,
	"conversations.open":    50,
	"users.info":            100,
	"views.open":            100,
	"views.publish":         100,
	"views.push":            100,
	"views.update":          100,
}

// postBurst is how many posts in a row Slack tolerates in one channel. It
// speaks of "short bursts" only; the number is assumed.
const postBurst = 5

// limited refuses calls that come too fast, where Options ask for that.
func (s *Server) limited(a *app, method, channel string) error {
	if !s.opts.RateLimits {
		return nil
	}
	limit, burst, key := rate.Limit(1), postBurst, a.ID+" "+method+" "+channel
	if method != "chat.postMessage" {
		tier, ok := tiers[method]
		if !ok {
			return nil
		}
		limit, burst, key = rate.Every(time.Minute/time.Duration(tier)), tier, a.ID+" "+method
	}
	bucket := s.buckets[key]
	if bucket == nil {
		bucket = rate.NewLimiter(limit, burst)
		s.buckets[key] = bucket
	}
	turn := bucket.ReserveN(s.now(), 1)
	if delay := turn.DelayFrom(s.now()); delay > 0 {
		turn.CancelAt(s.now())
		return &refusal{"ratelimited", answer{"retry_after": int(math.Ceil(delay.Seconds()))}}
	}
	return nil
}
