package upstream

import (
	"context"
	"errors"
	"time"
)

// supervise keeps the upstream connected until ctx ends.
func (c *Client) supervise(ctx context.Context) {
	pace := newPace(c.cfg)
	c.set(Connecting, nil, nil)
	for ctx.Err() == nil {
		s, err := c.connect(ctx)
		if err != nil {
			c.down(ctx, err, pace.afterFailure())
			continue
		}
		c.up(s)
		err = c.attend(ctx, s)
		c.setPID(0)
		if s.wasGood() {
			c.outage.over()
		}
		c.lost(ctx, err, pace.afterLoss(s))
	}
	c.end()
}

// end is for the case that no connection is up when ctx ends.
func (c *Client) end() {
	select {
	case <-c.ended:
	default:
		close(c.ended)
	}
}

func (c *Client) up(s *session) {
	c.mu.Lock()
	if c.health.Protocol != "" {
		c.health.Restarts++
	}
	c.health.Protocol, c.health.ServerInfo = s.terms.protocol, s.terms.info
	c.health.Capabilities = s.terms.abilities
	c.mu.Unlock()
	c.set(Up, s, nil)
	c.listChanged()
	if c.outage.connected() {
		c.cfg.Logger.Info("upstream is up", "server", c.server.Name, "protocol", s.terms.protocol)
	}
}

// down waits before the next attempt. Callers are refused meanwhile and during
// that attempt: they must not queue up behind a server that may never come.
func (c *Client) down(ctx context.Context, err error, pause time.Duration) {
	if ctx.Err() != nil {
		return
	}
	c.set(Down, nil, err)
	text := c.hide.text(err.Error())
	if failures := c.outage.failed(text, time.Now()); failures > 0 {
		c.cfg.Logger.Warn("upstream is down", "server", c.server.Name, "error", text, "failures", failures, "retry_in", pause)
	}
	sleep(ctx, pause)
}

// lost starts the next attempt at once where pause is 0; callers wait for it.
func (c *Client) lost(ctx context.Context, err error, pause time.Duration) {
	if pause > 0 {
		c.down(ctx, err, pause)
		return
	}
	c.set(Connecting, nil, err)
}

// attend serves a connection to its end: it keeps the tools list fresh and asks
// a silent server for a sign of life.
func (c *Client) attend(ctx context.Context, s *session) error {
	defer s.link.close()
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			c.drain()
			return errStopped
		case <-s.link.lost():
			return s.link.cause()
		case <-c.refresh:
			again = c.relist(ctx, s)
		case <-again:
			again = c.relist(ctx, s)
		case <-s.probe:
			if err := c.check(ctx, s); err != nil {
				return err
			}
		}
	}
}

// check asks for a sign of life. Protocol 2026-07-28 has no ping and no
// connection that could hang.
func (c *Client) check(ctx context.Context, s *session) error {
	if s.hop != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.PingTimeout)
	defer cancel()
	if err := s.ping(ctx); err != nil {
		return errors.New("the server answers neither calls nor a ping")
	}
	return nil
}

// abortTime is how long calls have to return once they have been ended.
const abortTime = time.Second

// drain refuses new calls and gives those in flight their time to finish, then
// ends them, so that the server is told to stop what nobody waits for.
func (c *Client) drain() {
	c.end()
	c.set(Idle, nil, nil)
	c.emptySlots(c.cfg.DrainTimeout)
	c.abort()
	c.emptySlots(abortTime)
}

// emptySlots waits until no call is in flight, at most for span. The places it
// takes are never given back.
func (c *Client) emptySlots(span time.Duration) {
	bound := time.NewTimer(span)
	defer bound.Stop()
	for c.emptied < cap(c.slots) {
		select {
		case c.slots <- struct{}{}:
			c.emptied++
		case <-bound.C:
			return
		}
	}
}
