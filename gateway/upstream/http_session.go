package upstream

import (
	"context"
	"fmt"
	"net/http"
)

// renew repeats the handshake when stale is still the session in use. Many
// calls may find the session gone at once; one of them renews, all go on.
func (l *httpLink) renew(ctx context.Context, stale string) error {
	select {
	case l.renewal <- struct{}{}:
		defer func() { <-l.renewal }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if l.sessionID() != stale {
		return nil
	}
	if err := l.again(ctx); err != nil {
		if ctx.Err() == nil {
			l.because(err) // the supervisor goes on from here
		}
		return fmt.Errorf("opening a new session: %w", reason(err))
	}
	l.changed() // a server that restarted may have other tools
	return nil
}

// keepDraft remembers the session of an initialize answer until confirm.
func (l *httpLink) keepDraft(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draft = session
}

// confirm sends the last message of a handshake in the new session; only then
// do calls use it, since servers refuse them before. The stream of the former
// session has nothing more to say.
func (l *httpLink) confirm(ctx context.Context, body []byte) error {
	ctx, stop := l.within(ctx)
	defer stop()
	req, err := l.request(ctx, http.MethodPost, body, nil)
	if err != nil {
		return err
	}
	l.mu.Lock()
	draft := l.draft
	l.mu.Unlock()
	req.Header.Del("Mcp-Session-Id")
	if draft != "" {
		req.Header.Set("Mcp-Session-Id", draft)
	}
	if err := l.send(req); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = draft
	if l.stopStream != nil {
		l.stopStream()
	}
	return nil
}

// close ends the calls in flight and then tells the server that the session is
// over, so that it need not wait for us to time out.
func (l *httpLink) close() {
	l.because(errClosed)
	l.cancel()
	l.tasks.Wait()
	l.sayGoodbye()
	l.client.CloseIdleConnections()
}

// note posts a reply or a cancellation. It goes out even when the link is being
// closed, since that is when calls are cancelled.
func (l *httpLink) note(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.grace)
	defer cancel()
	req, err := l.request(ctx, http.MethodPost, body, nil)
	if err != nil {
		return err
	}
	return l.send(req)
}

// sayGoodbye sends the cancellations that are left and ends the session.
func (l *httpLink) sayGoodbye() {
	ctx, cancel := context.WithTimeout(context.Background(), l.grace)
	defer cancel()
	for len(l.cancels) > 0 && ctx.Err() == nil {
		_ = l.note(ctx, <-l.cancels) // the session ends in any case
	}
	if l.sessionID() != "" {
		l.deleteSession(ctx)
	}
}

func (l *httpLink) deleteSession(ctx context.Context) {
	req, err := l.request(ctx, http.MethodDelete, nil, nil)
	if err != nil {
		return
	}
	if resp, err := l.attempt(req); err == nil {
		resp.Body.Close() // 405 is fine: the server keeps no sessions to end
	}
}
