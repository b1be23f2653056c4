package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrTimeout is in the chain of a call that ran out of its own time, as set by
// Server.CallTimeout and Config.MaxCallTime.
var ErrTimeout = errors.New("no answer in time")

// RPCError is the JSON-RPC error with which an upstream answered a request.
// The call reached it and it said no; what ran is the server's to tell.
type RPCError struct {
	Code    int64
	Message string
	// Data is the raw data member, nil if there was none.
	Data json.RawMessage
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("the server answered with error %d: %s", e.Code, e.Message)
}

// UnavailableError says that nothing of the request was accepted by the
// upstream: it is down, refused the request outright, or was never written to.
type UnavailableError struct {
	Server string
	// Retryable is false where the same request will fail again until somebody
	// changes something, such as a refused key.
	Retryable bool
	Err       error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("server %s is not available: %v", e.Server, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// LostError says that the request may have been accepted and its outcome is not
// known: the tool may have run. It must not be sent again without asking.
type LostError struct {
	Server string
	Err    error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("server %s: the outcome of the call is not known: %v", e.Server, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// ResultError says that the upstream answered, so the tool ran, and that its
// answer cannot be passed on: no result, an odd one, or one above the limit.
type ResultError struct {
	Server string
	Reason string
}

func (e *ResultError) Error() string {
	return fmt.Sprintf("server %s gave an answer that cannot be used: %s", e.Server, e.Reason)
}

// reason is why something is not available, as a text: the chain of a failed
// handshake must not be taken for the outcome of a call that was never sent.
func reason(err error) error {
	var lost *LostError
	var down *UnavailableError
	switch {
	case errors.As(err, &lost):
		err = lost.Err
	case errors.As(err, &down):
		err = down.Err
	}
	return errors.New(err.Error())
}

// InputError says that the call itself is malformed; nothing was sent.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return "the call cannot be sent: " + e.Reason }
