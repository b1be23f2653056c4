package upstream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
)

// request makes a request with all headers; f is nil for those without answer.
func (l *httpLink) request(ctx context.Context, method string, body []byte, f *flight) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.target, bytes.NewReader(body))
	if err != nil {
		return nil, &UnavailableError{l.server, false, errors.New("its url cannot be used")}
	}
	req.Header = l.headers.Clone()
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f != nil && f.method == methodInitialize {
		return req, nil
	}
	if l.session != "" {
		req.Header.Set("Mcp-Session-Id", l.session)
	}
	if l.protocol != "" {
		req.Header.Set("MCP-Protocol-Version", l.protocol)
	}
	if f != nil && l.protocol == protocolModern {
		nameRequest(req.Header, f)
	}
	return req, nil
}

func (l *httpLink) sessionID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

func (l *httpLink) speak(protocol string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.protocol = protocol
}

func (l *httpLink) modern() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.protocol == protocolModern
}

// plainError takes the URL, which may hold a secret, out of a net/http error
// and keeps the reason for which a context ended.
func (l *httpLink) plainError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return errors.New(l.hide.text(err.Error()))
}
