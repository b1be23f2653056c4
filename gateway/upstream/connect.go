package upstream

import (
	"context"
	"encoding/json"
	"time"
)

// connect makes a link and does the handshake; it leaves nothing behind when it
// fails.
func (c *Client) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
	defer cancel()
	r := newRouter(c.listChanged, c.skip, c.cfg.OnNotify)
	if c.server.URL != "" {
		return c.connectHTTP(ctx, r)
	}
	l, err := startStdio(c.server, c.cfg, r, c.stderr, c.hide)
	if err != nil {
		return nil, err
	}
	c.setPID(l.child.pid)
	t, err := greet(ctx, l, c.clientInfo())
	if err != nil {
		l.close()
		c.setPID(0)
		return nil, err
	}
	return newSession(l, r, t, nil), nil
}

func (c *Client) connectHTTP(ctx context.Context, r *router) (*session, error) {
	l := startHTTP(c.server, c.cfg, r, c.hide)
	l.again = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
		defer cancel()
		_, err := greet(ctx, l, c.clientInfo())
		return err
	}
	t, err := greet(ctx, l, c.clientInfo())
	if err == nil {
		l.listen()
		return newSession(l, r, t, nil), nil
	}
	if refusesHandshake(err) {
		l.hop = hopMeta(c.clientInfo())
		if t, modern := discover(ctx, l, l.hop); modern == nil {
			l.listen()
			return newSession(l, r, t, l.hop), nil
		}
	}
	l.close()
	return nil, err
}

func newSession(l link, r *router, t terms, hop json.RawMessage) *session {
	return &session{link: l, begun: time.Now(), router: r, terms: t, hop: hop, probe: make(chan struct{}, 1)}
}

func (c *Client) clientInfo() json.RawMessage {
	info, err := json.Marshal(map[string]string{"name": c.cfg.ClientName, "version": c.cfg.ClientVersion})
	if err != nil {
		return json.RawMessage(`{"name":"holm","version":"0"}`) // two strings always marshal
	}
	return info
}
