package upstream

import (
	"context"
	"encoding/json"
	"errors"
)

// do sends what build makes for the current connection and waits for its result.
func (c *Client) do(ctx context.Context, build func(*session, *patience) *flight) (json.RawMessage, error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for retried := false; ; retried = true {
		s, err := c.session(ctx)
		if err != nil {
			return nil, err
		}
		result, err := c.once(ctx, s, build)
		var unsent *UnavailableError
		if retried || !errors.As(err, &unsent) || s.link.cause() == nil || ctx.Err() != nil {
			return result, err
		}
		// The link was found dead before a byte was written: the next one serves.
	}
}

// enter takes one of the places.
func (c *Client) enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-c.ended:
		return nil, c.unavailable(errStopped)
	case <-ctx.Done():
		return nil, c.unsent(ctx)
	}
}

// once sends one request, within the time it has.
func (c *Client) once(ctx context.Context, s *session, build func(*session, *patience) *flight) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.calls, func() { cancel(errStopped) })()
	patience := newPatience(c.server.CallTimeout, c.cfg.MaxCallTime, func() { cancel(ErrTimeout) })
	defer patience.stop()
	return s.request(ctx, build(s, patience))
}
