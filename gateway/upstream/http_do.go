package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
)

// errExpired says that the server no longer knows the session.
var errExpired = errors.New("the server has forgotten the session")

// do sends a request that says something about the server: its failures count.
func (l *httpLink) do(req *http.Request) (*http.Response, error) {
	resp, err := l.attempt(req)
	switch {
	case err == nil:
		l.reached(resp.StatusCode)
	case req.Context().Err() == nil:
		l.miss(err)
	}
	return resp, err
}

// attempt sends a request and tells the two kinds of failure apart: before its
// header was written, and after.
func (l *httpLink) attempt(req *http.Request) (*http.Response, error) {
	var begun atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { begun.Store(true) }}
	resp, err := l.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		return resp, nil
	}
	err = l.plainError(req.Context(), err)
	if begun.Load() {
		return nil, &LostError{l.server, err}
	}
	return nil, &UnavailableError{l.server, true, err}
}

// reached counts the statuses with which a front end says that the server
// behind it is not there as misses, and forgets the misses on any other.
func (l *httpLink) reached(status int) {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		l.miss(fmt.Errorf("the server answered %s", statusText(status)))
	default:
		l.mu.Lock()
		l.unreached = 0
		l.mu.Unlock()
	}
}

// miss gives the link up after enough of them, but not while another request is
// under way on it and may yet be answered.
func (l *httpLink) miss(err error) {
	l.mu.Lock()
	l.unreached++
	enough := l.unreached >= maxUnreached
	l.mu.Unlock()
	if enough && l.flights.count() <= 1 {
		l.because(err)
	}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// refusal turns an answer that is not 200 into an error. What a 4xx or a
// redirect refuses did not run; after a 5xx nobody knows.
func (l *httpLink) refusal(resp *http.Response, f *flight) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err := l.expired(resp, body); err != nil {
		return err
	}
	if err := l.spoken(resp, body, f); err != nil {
		return err
	}
	status := resp.StatusCode
	text := fmt.Errorf("it answered %s%s", statusText(status), l.detail(resp, body))
	switch {
	case status < 300:
		return &LostError{l.server, fmt.Errorf("it accepted the request and sent no answer (%s)", statusText(status))}
	case status >= 500 || status == http.StatusRequestTimeout:
		return &LostError{l.server, text}
	case status == http.StatusTooManyRequests:
		return &UnavailableError{l.server, true, text}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &UnavailableError{l.server, false, fmt.Errorf("it refused our credentials (%s)", statusText(status))}
	case status < 400:
		return &UnavailableError{l.server, false, fmt.Errorf("it redirects to %s, which is not followed", l.destination(resp))}
	}
	return &UnavailableError{l.server, false, text}
}

// expired is 404 where a session was named (the specification's way), and 400
// with a word about the session (that of many servers made after the
// TypeScript SDK's examples).
func (l *httpLink) expired(resp *http.Response, body []byte) error {
	if resp.Request.Header.Get("Mcp-Session-Id") == "" {
		return nil
	}
	status := resp.StatusCode
	told := strings.Contains(strings.ToLower(string(body)), "session")
	if status == http.StatusNotFound || (status == http.StatusBadRequest && told) {
		return &UnavailableError{l.server, true, errExpired}
	}
	return nil
}

// spoken is the JSON-RPC error in the body, if there is one for f; credentials
// are a matter of the status alone.
func (l *httpLink) spoken(resp *http.Response, body []byte, f *flight) error {
	if f == nil || resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil
	}
	all, err := parse(body)
	if err != nil || len(all) != 1 || !all[0].isResponse() || all[0].fault == nil {
		return nil
	}
	if id, ok := all[0].number(); (ok && id == f.id) || isNull(all[0].id) {
		_, err = all[0].answer(l.server, l.hide)
		return err
	}
	return nil
}

func (l *httpLink) detail(resp *http.Response, body []byte) string {
	if strings.Contains(resp.Header.Get("Content-Type"), "html") {
		return " with an HTML page"
	}
	if text := l.hide.snippet(body); text != "" {
		return ": " + text
	}
	return ""
}

// destination is where a redirect points, without what may be secret in it.
func (l *httpLink) destination(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil {
		return "nowhere"
	}
	return l.hide.text((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String())
}
