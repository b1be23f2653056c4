package upstream

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// Tool is one tool of an upstream.
type Tool struct {
	// Name is the name under which the upstream knows it.
	Name string
	// Raw is the tool object exactly as sent. Read it only.
	Raw json.RawMessage
	// Digest is the SHA-256, in hex, of Raw without white space between
	// tokens; the order of members counts.
	Digest string
}

// listRetry is the pause before a failed reading of the list is repeated.
const listRetry = 5 * time.Second

// Tools is the list as last read; it is read anew after each connect and each
// list_changed, and Config.OnChange tells when it became another. While the
// server is down the last list stands. Without one yet, Tools waits for the
// first and fails with an *UnavailableError or the reason it cannot be read.
// The slice is shared: do not change it.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	for {
		c.mu.Lock()
		tools, err, news := c.tools, c.listErr, c.news
		c.mu.Unlock()
		if tools != nil {
			return tools, nil
		}
		if err != nil {
			return nil, err
		}
		if _, err := c.session(ctx); err != nil {
			return nil, err
		}
		select {
		case <-news:
		case <-c.ended:
			return nil, c.unavailable(errStopped)
		case <-ctx.Done():
			return nil, c.unsent(ctx)
		}
	}
}

// Known is the list as last read, without waiting for anything; nil before the
// first. The slice is shared: do not change it.
func (c *Client) Known() []Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// listChanged asks the supervisor to read the list.
func (c *Client) listChanged() {
	select {
	case c.refresh <- struct{}{}:
	default:
	}
}

// relist reads the list; on failure it returns when to try again.
func (c *Client) relist(ctx context.Context, s *session) <-chan time.Time {
	ctx, stop := whileUp(ctx, s, c.cfg.ListTimeout)
	defer stop()
	tools, warning, err := s.list(ctx, c.cfg.MaxMessage)
	if err != nil {
		c.listFailed(s, err)
		return time.After(listRetry)
	}
	if warning != "" {
		c.cfg.Logger.Warn("upstream has an odd tools list", "server", c.server.Name, "warning", warning)
	}
	c.keep(tools, warning)
	return nil
}

// whileUp is a context that ends with the connection as well.
func whileUp(ctx context.Context, s *session, bound time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.link.lost():
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); watch.Wait() }
}

// listFailed keeps the last list. A lost link is no fault of the list.
func (c *Client) listFailed(s *session, err error) {
	if s.link.cause() != nil {
		return
	}
	c.cfg.Logger.Warn("upstream does not tell its tools", "server", c.server.Name, "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listErr = err
	c.health.LastError = c.hide.text(err.Error())
	c.announce()
}

// keep stores the list. Nobody sees another one than before until OnChange has
// been told of it.
func (c *Client) keep(tools []Tool, warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools == nil || !sameTools(c.tools, tools) {
		c.tools = tools
		c.cfg.OnChange()
	}
	c.listErr = nil
	c.health.Warning = warning
	c.announce()
}

func sameTools(a, b []Tool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Digest != b[i].Digest {
			return false
		}
	}
	return true
}
