package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// reply reads the answer to f from a response with status 200.
func (l *httpLink) reply(ctx context.Context, resp *http.Response, f *flight) (json.RawMessage, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return l.document(ctx, resp, f)
	case "text/event-stream":
		return l.follow(ctx, resp, f)
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return nil, &LostError{l.server, fmt.Errorf("it answered with %q instead of JSON%s", kind, l.detail(resp, body))}
}

func (l *httpLink) document(ctx context.Context, resp *http.Response, f *flight) (json.RawMessage, error) {
	var read bytes.Buffer
	read.Grow(int(min(max(resp.ContentLength+1, 512), 1<<20)))
	if _, err := read.ReadFrom(io.LimitReader(resp.Body, int64(l.limit)+1)); err != nil {
		return nil, &LostError{l.server, l.plainError(ctx, err)}
	}
	body := read.Bytes()
	if len(body) > l.limit {
		return nil, &ResultError{l.server, (&tooLongError{limit: l.limit}).Error()}
	}
	all, err := parse(body)
	if answer := l.pick(all, f, true); answer != nil {
		return answer.answer(l.server, l.hide)
	}
	if err != nil {
		return nil, &ResultError{l.server, "it is not JSON-RPC: " + l.hide.snippet(body)}
	}
	return nil, &ResultError{l.server, "it is not the answer to the request"}
}

// pick routes all messages but the answer to f, which it returns. An error
// without id, as servers send before they have read one, is that answer where
// alone says that no other request can be meant.
func (l *httpLink) pick(all []*message, f *flight, alone bool) *message {
	var answer *message
	for _, m := range all {
		if m == nil {
			continue
		}
		id, ok := m.number()
		mine := (ok && id == f.id) || (alone && isNull(m.id) && m.fault != nil)
		if m.isResponse() && mine && answer == nil {
			answer = m
			continue
		}
		l.route(m, f)
	}
	return answer
}
