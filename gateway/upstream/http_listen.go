package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// errNoStream says that the server offers no stream outside calls.
var errNoStream = errors.New("the server offers no stream")

// listen keeps a stream open on which the server tells of changes. It is an
// extra: however it fails, calls go on.
func (l *httpLink) listen() { l.task(&l.tasks, l.log, l.keepListening) }

func (l *httpLink) keepListening() {
	pause := &backoff.ExponentialBackOff{
		InitialInterval: time.Second, MaxInterval: time.Minute, Multiplier: 2, RandomizationFactor: 0.5,
	}
	at, session := &place{}, ""
	for first := true; ; first = false {
		opened := time.Now()
		if now := l.sessionID(); now != session {
			at.id, session = "", now
		}
		err := l.listenOnce(at, first)
		if errors.Is(err, errNoStream) || l.ctx.Err() != nil {
			return
		}
		if errors.Is(err, errExpired) {
			_ = l.renew(l.ctx, session)
		}
		if time.Since(opened) > time.Minute {
			pause.Reset()
		}
		if !sleep(l.ctx, max(min(at.retry, time.Minute), pause.NextBackOff())) {
			return
		}
	}
}

// listenOnce opens the stream and reads it to its end.
func (l *httpLink) listenOnce(at *place, first bool) error {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	l.mu.Lock()
	l.stopStream = cancel
	l.mu.Unlock()
	req, err := l.listenRequest(ctx, at)
	if err != nil {
		return err
	}
	resp, err := l.attempt(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := l.checkStream(resp); err != nil {
		return err
	}
	if !first && at.id == "" {
		l.changed() // what was said between two streams is lost
	}
	return l.hear(resp.Body, at)
}

func (l *httpLink) listenRequest(ctx context.Context, at *place) (*http.Request, error) {
	if l.modern() {
		f := newFlight(methodListen, listenParams(l.hop))
		return l.request(ctx, http.MethodPost, f.body(), f)
	}
	req, err := l.request(ctx, http.MethodGet, nil, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if at.id != "" {
		req.Header.Set("Last-Event-ID", at.id)
	}
	return req, nil
}

func (l *httpLink) checkStream(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	err := l.refusal(resp, nil)
	switch {
	case errors.Is(err, errExpired):
		return err
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusConflict:
		return errNoStream
	}
	return err
}

func (l *httpLink) hear(in io.Reader, at *place) error {
	stream := newEvents(in, l.limit)
	var long *tooLongError
	for {
		ev, err := stream.next()
		if errors.As(err, &long) {
			l.skipped()
			continue
		}
		if err != nil {
			return err
		}
		at.note(ev)
		if !ev.isMessage() {
			continue
		}
		all, err := parse(ev.data)
		if err != nil {
			l.skipped()
		}
		for _, m := range all {
			if m != nil {
				l.route(m, nil)
			}
		}
	}
}
