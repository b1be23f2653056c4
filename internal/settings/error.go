package settings

import (
	"fmt"
	"slices"
	"strings"
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
	if near := nearest(name, known); near != "" {
		return unusable(name, "there is no such setting; did you mean %s?", near)
	}
	return unusable(name, "there is no such setting")
}

// nearest gives the known name at most three edits away, or "".
func nearest(name string, known []string) string {
	best, at := "", 4
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := distance(strings.ToUpper(name), strings.ToUpper(candidate)); d < at {
			best, at = candidate, d
		}
	}
	return best
}

// distance is Levenshtein's: edits of one byte.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
