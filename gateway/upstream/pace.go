package upstream

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A connection that answered a call or lived for steadyAfter was a good one;
// quickRestarts others may follow each other without a pause.
const (
	steadyAfter   = 10 * time.Second
	quickRestarts = 3
)

// pace decides how long to wait before the next attempt. It never gives up.
type pace struct {
	backoff *backoff.ExponentialBackOff
	quick   int
}

func newPace(cfg Config) *pace {
	return &pace{backoff: &backoff.ExponentialBackOff{
		InitialInterval: cfg.RetryMin, MaxInterval: cfg.RetryMax, Multiplier: 2, RandomizationFactor: 0.5,
	}}
}

func (s *session) wasGood() bool { return s.answered.Load() || time.Since(s.begun) > steadyAfter }

func (p *pace) afterFailure() time.Duration { return p.backoff.NextBackOff() }

func (p *pace) afterLoss(s *session) time.Duration {
	if s.wasGood() {
		p.quick = 0
		p.backoff.Reset()
	}
	if p.quick++; p.quick <= quickRestarts {
		return 0
	}
	return p.backoff.NextBackOff()
}
