package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"holm/internal/session"
)

// eventWriter writes server-sent events, each with a deadline of its own: the
// server's, if it has any, would end every stream.
type eventWriter struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration

	// allowed is asked again before anything is sent, if it was not for checkEvery,
	// so that a stream does not outlive its credential.
	allowed    func() error
	checkEvery time.Duration
	checked    time.Time
}

func (s *server) newEventWriter(w http.ResponseWriter, c caller) *eventWriter {
	return &eventWriter{
		w: w, control: http.NewResponseController(w), patience: s.WritePatience,
		allowed: c.again, checkEvery: min(s.Heartbeat, time.Second), checked: time.Now(),
	}
}

// begin tells the reader at once that it is connected.
func (e *eventWriter) begin() error { return e.open("retry: 1000\n\n") }

// beginAfter also tells where the stream begins, so that a reader to whom
// nothing came yet resumes from there.
func (e *eventWriter) beginAfter(id int64) error {
	return e.open(fmt.Sprintf("retry: 1000\nid: %d\n\n", id))
}

func (e *eventWriter) open(text string) error {
	header := e.w.Header()
	header.Set("Content-Type", eventStream)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	return e.write(text)
}

func (e *eventWriter) event(event session.Event) error {
	data, err := json.Marshal(event)
	if err != nil {
		return err
	}
	id := ""
	if event.ID != 0 {
		id = fmt.Sprintf("id: %d\n", event.ID)
	}
	return e.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, event.Type, data))
}

func (e *eventWriter) heartbeat() error { return e.write(": still here\n\n") }

func (e *eventWriter) write(text string) error {
	if time.Since(e.checked) >= e.checkEvery {
		if err := e.allowed(); err != nil {
			return err
		}
		e.checked = time.Now()
	}
	if err := e.control.SetWriteDeadline(time.Now().Add(e.patience)); err != nil {
		return err
	}
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	// A deadline that passes in the silence after it would end an HTTP/2 stream.
	return e.control.SetWriteDeadline(time.Time{})
}
