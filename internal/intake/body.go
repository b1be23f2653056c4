package intake

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"holm/internal/fault"
)

// timed is a body with a deadline, which its end takes away: a request may be
// answered long after it came.
type timed struct {
	io.ReadCloser
	arrived func()
	once    sync.Once
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.once.Do(t.arrived)
	}
	return n, err
}

// Body counts a body as it is read, for those who read it themselves.
func (v *Visit) Body(body io.ReadCloser) io.ReadCloser { return &counted{body, v} }

type counted struct {
	io.ReadCloser
	visit *Visit
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if full := c.visit.take(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}

// Codes of bodies that cannot be used.
const (
	CodeTooLarge = "too_large"
	CodeTooSlow  = "body_timeout"
)

// step is how much room a body of unknown length asks for at a time.
const step = 64 << 10

// Read reads the body of r, of at most so many bytes. Room for it is taken
// first: for all of a length that was announced, else bit by bit.
func (v *Visit) Read(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, tooLarge(w, most)
	}
	room := max(r.ContentLength, 0)
	if err := v.take(room); err != nil {
		w.Header().Set("Connection", "close") // rather than read what is refused
		return nil, err
	}
	body := make([]byte, 0, room+1) // one more, so that the end is seen without growing
	limited := http.MaxBytesReader(w, r.Body, most)
	for {
		if len(body) == cap(body) {
			more := min(max(int64(len(body)), step), most-int64(len(body))+1)
			if err := v.take(more); err != nil {
				w.Header().Set("Connection", "close")
				return nil, err
			}
			body = append(make([]byte, 0, int64(len(body))+more), body...)
		}
		n, err := limited.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, unread(w, err, most)
		}
	}
}

func tooLarge(w http.ResponseWriter, most int64) error {
	w.Header().Set("Connection", "close")
	return fault.New(fault.Invalid, CodeTooLarge, "the request is larger than %d MiB", most>>20)
}

// unread says why a body could not be read.
func unread(w http.ResponseWriter, err error, most int64) error {
	var long *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &long):
		return tooLarge(w, most)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		w.Header().Set("Connection", "close")
		return fault.New(fault.Invalid, CodeTooSlow, "the body of the request took too long to arrive")
	}
	return fault.New(fault.Invalid, "unreadable", "the request could not be read")
}
