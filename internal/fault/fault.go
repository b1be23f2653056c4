// Package fault is the vocabulary of failures that reach a person or a caller:
// a kind that an edge maps to its own form (HTTP status, tool result, chat
// sentence, exit code), a stable code, and a sentence. It knows no edge.
package fault

import (
	"errors"
	"fmt"
)

// Kind is what an edge decides by.
type Kind int

const (
	// Internal is the zero Kind: a failure whose text is not for outsiders.
	Internal Kind = iota
	// Invalid: the input itself is wrong; the same input fails again.
	Invalid
	// Unauthenticated: no credential, or one that proves nothing.
	Unauthenticated
	// Forbidden: a known caller who may not do this.
	Forbidden
	// NotFound: there is no such thing, or none the caller may know of.
	NotFound
	// Conflict: the thing is in a state that does not allow it.
	Conflict
	// Gone: it was possible once and its time has passed.
	Gone
	// Unavailable: a part that is needed does not answer now; later it may.
	Unavailable
	// Exhausted: the caller has as much as one may have; later there may be room.
	Exhausted
)

// Error is a failure with a Kind, a stable machine-readable Code in
// snake_case, and a Message for a person without secrets. Data, if set, is
// shown to the caller with the code.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Data    any
	Err     error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// New makes an Error; format and args make its Message.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// As finds the Error in a chain; ok is false for failures that have none and
// are Internal therefore.
func As(err error) (e *Error, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}

// Is tells whether err carries the given code.
func Is(err error, code string) bool {
	e, ok := As(err)
	return ok && e.Code == code
}

// NotFoundf is the one answer for things that do not exist and for things that
// belong to somebody else: both look alike to the caller.
func NotFoundf(format string, args ...any) *Error {
	return New(NotFound, "not_found", format, args...)
}

// Invalidf refuses input.
func Invalidf(format string, args ...any) *Error {
	return New(Invalid, "invalid", format, args...)
}
