package upstream

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// event is one server-sent event.
type event struct {
	id    string
	retry time.Duration
	name  string
	data  []byte
}

// isMessage is false for events of other kinds, which servers use as heartbeats.
func (e *event) isMessage() bool {
	return (e.name == "" || e.name == "message") && len(bytes.TrimSpace(e.data)) > 0
}

// events reads a text/event-stream as HTML, section 9.2, describes it. Lines it
// does not understand are passed over.
type events struct {
	lines *lines
	limit int
}

func newEvents(in io.Reader, limit int) *events {
	return &events{newLines(in, limit+len("data: \r\n")), limit}
}

// next is the next event. *tooLongError: one was above the limit, go on
// reading. A last event counts even without its blank line: one that was cut
// short is no valid JSON.
func (e *events) next() (*event, error) {
	ev := &event{}
	var long *tooLongError
	for {
		line, err := e.lines.next()
		switch {
		case errors.As(err, &long):
			long.head = bytes.TrimPrefix(long.head, []byte("data:"))
			continue
		case errors.Is(err, io.EOF) && ev.data != nil && long == nil:
			return ev, nil
		case err != nil:
			return nil, err
		case len(line) > 0:
			ev.field(line)
		case long != nil:
			return ev, long
		case ev.id != "" || ev.retry > 0 || ev.data != nil:
			return ev, nil
		}
		if len(ev.data) > e.limit {
			long = &tooLongError{limit: e.limit, head: ev.data[:min(edge, len(ev.data))]}
			ev.data = nil
		}
	}
}

func (e *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.add(value)
	case "id":
		e.setID(value)
	case "event":
		e.name = string(value)
	case "retry":
		if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
			e.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// setID ignores ids that could not be sent back in a header.
func (e *event) setID(id []byte) {
	for _, c := range id {
		if c < 0x20 || c == 0x7f {
			return
		}
	}
	e.id = string(id)
}

// add keeps a single data line without copying it.
func (e *event) add(value []byte) {
	if e.data == nil {
		e.data = value
		return
	}
	e.data = append(append(e.data, '\n'), value...)
}
