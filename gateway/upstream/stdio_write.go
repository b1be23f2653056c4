package upstream

import (
	"context"
	"errors"
	"sync/atomic"
)

// frame is one line on its way to the child.
type frame struct {
	body   []byte
	unsent atomic.Bool // writing failed before its first byte
}

// write sends frames, one after the other, for as long as ctx lives.
func (l *stdioLink) write(ctx context.Context) {
	for {
		select {
		case f := <-l.outbox:
			if n, err := l.child.in.Write(f.body); err != nil {
				f.unsent.Store(n == 0)
				l.because(errors.New("the server does not take input any more"))
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// send hands a frame to the writer. An error means that no byte was written.
func (l *stdioLink) send(ctx context.Context, body []byte) (*frame, error) {
	f := &frame{body: append(oneLine(body), '\n')}
	select {
	case <-l.done:
		return nil, &UnavailableError{l.server, true, l.err}
	default:
	}
	select {
	case l.outbox <- f:
		return f, nil
	case <-l.done:
		return nil, &UnavailableError{l.server, true, l.err}
	case <-ctx.Done():
		return nil, &UnavailableError{l.server, true, context.Cause(ctx)}
	}
}

// oneLine puts blanks for line ends, which valid JSON has only between tokens.
func oneLine(body []byte) []byte {
	for i, b := range body {
		if b == '\n' || b == '\r' {
			body[i] = ' '
		}
	}
	return body
}

func (l *stdioLink) post(ctx context.Context, body []byte) error {
	_, err := l.send(ctx, body)
	return err
}
