package upstream

import (
	"context"
	"encoding/json"
)

func (l *stdioLink) exchange(ctx context.Context, f *flight) (json.RawMessage, error) {
	box := newMailbox()
	f.take = box.push
	l.flights.add(f)
	defer l.flights.remove(f)
	sent, err := l.send(ctx, f.body())
	if err != nil {
		return nil, err
	}
	for {
		select {
		case <-box.ready:
		case <-ctx.Done():
			return nil, &LostError{l.server, context.Cause(ctx)}
		case <-l.done:
			return l.lastWords(f, box, sent)
		}
		if answer := open(f, box); answer != nil {
			return answer.answer(l.server, l.hide)
		}
	}
}

// open delivers the events in the box and returns the answer, nil if it has not come.
func open(f *flight, box *mailbox) *message {
	for _, m := range box.drain() {
		if m.isResponse() {
			return m
		}
		f.deliver(m)
	}
	return nil
}

// lastWords is the outcome of a call whose link is gone: an answer that came
// before the end still counts.
func (l *stdioLink) lastWords(f *flight, box *mailbox, sent *frame) (json.RawMessage, error) {
	if answer := open(f, box); answer != nil {
		return answer.answer(l.server, l.hide)
	}
	if sent.unsent.Load() {
		return nil, &UnavailableError{l.server, true, l.err}
	}
	return nil, &LostError{l.server, l.err}
}
