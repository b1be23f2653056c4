package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"
)

// session is a link after its handshake.
type session struct {
	link     link
	begun    time.Time
	router   *router
	terms    terms
	hop      json.RawMessage // _meta members of each request, nil before 2026-07-28
	answered atomic.Bool     // a call has come back: the server is of use
	silent   atomic.Int32    // calls in a row that timed out
	probe    chan struct{}   // asks the supervisor for a ping
}

// terms are what a handshake agreed on.
type terms struct {
	protocol string
	info     json.RawMessage // serverInfo as sent, nil if none
	// abilities is the raw capabilities object, nil if none.
	abilities json.RawMessage
}

// maxSilent is how many calls in a row may time out before the server is asked
// for a sign of life: a slow tool alone says nothing about the server.
const maxSilent = 3

// request sends f and watches over its end: a request that nobody waits for
// any more is cancelled upstream by its own id.
func (s *session) request(ctx context.Context, f *flight) (json.RawMessage, error) {
	result, err := s.link.exchange(ctx, f)
	var lost *LostError
	if errors.As(err, &lost) && ctx.Err() != nil && s.hop == nil {
		s.router.cancelled(f.id)
	}
	s.count(err, ctx)
	return result, err
}

// count keeps the record of silence. Any answer, an error included, is a sign
// of life; so is one of the links, which end by themselves.
func (s *session) count(err error, ctx context.Context) {
	var rpc *RPCError
	if err == nil || errors.As(err, &rpc) {
		s.answered.Store(true)
		s.silent.Store(0)
		return
	}
	if errors.Is(context.Cause(ctx), ErrTimeout) && s.silent.Add(1) >= maxSilent {
		select {
		case s.probe <- struct{}{}:
		default:
		}
	}
}

// ping asks for a sign of life; "method not found" is one as good as any.
func (s *session) ping(ctx context.Context) error {
	f := newFlight(methodPing, s.params(nil))
	_, err := s.link.exchange(ctx, f)
	var rpc *RPCError
	if err == nil || errors.As(err, &rpc) {
		s.silent.Store(0)
		return nil
	}
	return err
}

// params renders parameters that hold nothing but the given members and what
// the protocol wants in _meta.
func (s *session) params(rendered []byte) json.RawMessage {
	if s.hop != nil {
		if len(rendered) > 0 {
			rendered = append(rendered, ',')
		}
		rendered = append(append(append(rendered, `"_meta":{`...), s.hop...), '}')
	}
	return json.RawMessage("{" + string(rendered) + "}")
}
