package settings

import (
	"fmt"
	"strings"

	"holm/internal/spelling"
)

// Error is a setting that cannot be used. Its text is for the operator, in one
// line, and never holds the value of a secret. The command line ends with exit
// code 78 for it.
type Error struct {
	// Setting is the name as the operator wrote it: HOLM_LISTEN, slack.mode.
	Setting string
	Message string
}

func (e *Error) Error() string { return e.Setting + ": " + e.Message }

func unusable(setting, format string, args ...any) *Error {
	return &Error{Setting: setting, Message: fmt.Sprintf(format, args...)}
}

// unknown refuses a name that no setting has, naming one that is spelled
// almost the same.
func unknown(name string, known []string) *Error {
	if near := spelling.Nearest(strings.ToUpper(name), known, 3); near != "" {
		return unusable(name, "there is no such setting; did you mean %s?", near)
	}
	return unusable(name, "there is no such setting")
}
