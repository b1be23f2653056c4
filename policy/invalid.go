package policy

import (
	"fmt"
	"strings"
)

// InvalidError says which part of a row, a scope or a call's arguments cannot be
// used. Its message is meant for the person who wrote that part, and never
// carries an argument's value.
type InvalidError struct {
	// Field is the path of the part, such as "scope.args[0].pattern".
	Field string
	// Message says what is wrong, in lower case and without a full stop.
	Message string
	// Position is the byte in Field's text where it went wrong, counted from 1;
	// 0 when there is no such place.
	Position int
}

// Error returns field, message and position in one line.
func (e *InvalidError) Error() string {
	if e.Position > 0 {
		return fmt.Sprintf("%s: %s (at position %d)", e.Field, e.Message, e.Position)
	}
	return e.Field + ": " + e.Message
}

func invalid(field, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// entry names the entry of a list that err is about: its field begins within it.
func entry(list string, i int, err *InvalidError) *InvalidError {
	err.Field = fmt.Sprintf("%s[%d]%s", list, i, err.Field)
	return err
}

func (e *InvalidError) at(position int) *InvalidError {
	e.Position = position
	return e
}

// clip shortens what somebody else chose before it enters a message.
func clip(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
