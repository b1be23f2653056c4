package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holm/internal/session"
)

// Events says which events to read.
type Events struct {
	Agent string
	// SessionID narrows to one session when set.
	SessionID string
	// After is the id of the last event that the reader has.
	After int64
	// Live begins, where After is 0, with the last seconds instead of the first event.
	Live bool
	// Follow stays for what comes; otherwise reading ends when there is no more.
	Follow bool
	// Interrupted is called, with the reason, when a stream is lost that will be
	// followed again. Nil: nobody is told.
	Interrupted func(error)
}

const (
	// firstPause and longestPause bound the waits before following again.
	firstPause, longestPause = time.Second, 15 * time.Second
	// maxLine bounds one event; arguments have at most 4 MiB.
	maxLine = 16 << 20
)

// Read calls emit for each event, in order, none twice; those without an id,
// which no list keeps, anew after each break. A lost stream is
// followed again from the last event that emit got, until ctx ends or the
// server refuses. It ends with nil when ctx does.
func (c *Client) Read(ctx context.Context, e Events, emit func(session.Event) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		before := e.After
		err := c.read(ctx, &e, emit)
		if ctx.Err() != nil {
			return nil
		}
		var lost *UnreachableError
		if err != nil && !(e.Follow && errors.As(err, &lost)) || !e.Follow {
			return err
		}
		if err != nil && e.Interrupted != nil {
			e.Interrupted(err)
		}
		if e.After != before {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// read reads one stream to its end.
func (c *Client) read(ctx context.Context, e *Events, emit func(session.Event) error) error {
	segments := []string{"agents", e.Agent, "events"}
	if e.SessionID != "" {
		segments = []string{"agents", e.Agent, "sessions", e.SessionID, "events"}
	}
	header := http.Header{"Last-Event-ID": {strconv.FormatInt(e.After, 10)}, "Accept": {"text/event-stream"}}
	resp, err := c.send(ctx, http.MethodGet, fmt.Sprintf("%s?follow=%t&live=%t", path(segments...), e.Follow, e.Live), nil, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	begin := func(after int64) { e.After = max(e.After, after) }
	return c.parse(resp.Body, begin, func(event session.Event) error {
		if event.ID != 0 && event.ID <= e.After {
			return nil
		}
		if err := emit(event); err != nil {
			return err
		}
		e.After = max(e.After, event.ID)
		return nil
	})
}

// parse reads server-sent events; their data is the event, in one line. begin is
// called with the id of a block without data.
func (c *Client) parse(stream io.Reader, begin func(after int64), emit func(session.Event) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	var id int64
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id, _ = strconv.ParseInt(text, 10, 64)
		}
		if lines.Text() == "" && id != 0 {
			begin(id)
			id = 0
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		id = 0
		var event session.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return &UnreachableError{Base: c.base, Err: fmt.Errorf("read an event: %w", err)}
		}
		if err := emit(event); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return &UnreachableError{Base: c.base, Err: fmt.Errorf("the stream broke: %w", err)}
	}
	return nil
}
