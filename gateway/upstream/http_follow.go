package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxResumes is how often in a row a broken stream is resumed without a single
// event coming out of it.
const maxResumes = 5

// place is how far a stream has been read.
type place struct {
	id    string
	retry time.Duration
	long  *tooLongError // an event above the limit went by
}

// follow reads an event stream to the answer. A server may end the stream
// early and let the client come back for the rest (protocol 2025-11-25): that
// asks for events again, never for the call.
func (l *httpLink) follow(ctx context.Context, resp *http.Response, f *flight) (json.RawMessage, error) {
	at := &place{}
	for tries := 0; ; {
		before := at.id
		answer, err := l.scan(resp.Body, f, at)
		if answer != nil {
			return answer.answer(l.server, l.hide)
		}
		if at.long != nil {
			return nil, &ResultError{l.server, at.long.Error()}
		}
		if tries++; at.id != before {
			tries = 1
		}
		if at.id == "" || tries > maxResumes || ctx.Err() != nil || l.modern() {
			return nil, &LostError{l.server, l.streamEnd(ctx, err)}
		}
		next, err := l.resume(ctx, at)
		if err != nil {
			return nil, &LostError{l.server, err}
		}
		defer next.Body.Close()
		resp = next
	}
}

func (l *httpLink) streamEnd(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		return errors.New("the stream ended before the answer")
	}
	return fmt.Errorf("the stream broke before the answer: %w", l.plainError(ctx, err))
}

// scan reads events up to the answer to f or the end of the stream.
func (l *httpLink) scan(in io.Reader, f *flight, at *place) (*message, error) {
	stream := newEvents(in, l.limit)
	for {
		ev, err := stream.next()
		if err != nil && !errors.As(err, &at.long) {
			return nil, err
		}
		at.note(ev)
		if at.long != nil {
			if id, ok := at.long.id(); ok && id == f.id {
				return nil, err
			}
		}
		if err != nil || !ev.isMessage() {
			continue
		}
		all, err := parse(ev.data)
		if err != nil {
			l.skipped()
		}
		if answer := l.pick(all, f, true); answer != nil {
			return answer, nil
		}
	}
}

func (p *place) note(ev *event) {
	if ev.id != "" {
		p.id = ev.id
	}
	if ev.retry > 0 {
		p.retry = ev.retry
	}
}

// resume waits as long as the server asked and opens the rest of the stream.
func (l *httpLink) resume(ctx context.Context, at *place) (*http.Response, error) {
	pause := at.retry
	if pause == 0 {
		pause = time.Second
	}
	if !sleep(ctx, min(pause, time.Minute)) {
		return nil, context.Cause(ctx)
	}
	req, err := l.request(ctx, http.MethodGet, nil, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", at.id)
	resp, err := l.attempt(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, fmt.Errorf("the rest of the stream was refused: %w", l.refusal(resp, nil))
	}
	return resp, nil
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
