package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holm/bot"
	"holm/internal/client"
	"holm/internal/db/embedded"
	"holm/internal/settings"
)

// Exit codes; scripts rely on them.
const (
	exitDone     = 0
	exitFailed   = 1  // refused or failed
	exitUsage    = 2  // the command line cannot be understood
	exitNotFound = 3  // what was named does not exist, a file too
	exitDenied   = 4  // denied by policy
	exitPending  = 5  // waits for an approval
	exitSetup    = 78 // a setting cannot be used

	exitNotRunnable = 126 // of holm guard: the command cannot be started
	exitNoProgram   = 127 // of holm guard: there is no such command
)

// exitOfCode are the exit codes of the server's refusals that have one of their
// own: of policy, of people, and of words that are right for another request.
var exitOfCode = map[string]int{
	"access_denied":     exitDenied,
	"approval_required": exitPending,

	"approval_rejected":  exitDenied,
	"approval_expired":   exitDenied,
	"approval_cancelled": exitDenied,

	"reason_required":        exitFailed,
	"resolution_not_offered": exitFailed,
}

// exitOfStatus are those of all other refusals; what is missing failed: a
// credential that is none, a state that does not allow it, a server that cannot.
var exitOfStatus = map[int]int{
	http.StatusBadRequest:          exitUsage,
	http.StatusUnprocessableEntity: exitUsage,
	http.StatusNotFound:            exitNotFound,
}

func exitOf(p *client.Problem) int {
	if code, ok := exitOfCode[p.Code]; ok {
		return code
	}
	return cmp.Or(exitOfStatus[p.Status], exitFailed)
}

// exitError ends with the exit code of a command that was run, or says why it was
// not; an empty message says nothing, since the command has spoken.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

// usageError is a command line that cannot be understood.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// flagError names a flag that is spelled almost like the unknown one, and says of
// a number what is none.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && value.GetFlag().Value.Type() == "int" {
		return usagef("--%s: %q is not a whole number; see %s --help", value.GetFlag().Name, value.GetValue(), cmd.CommandPath())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef("%v; see %s --help", err, cmd.CommandPath())
	}
	flags := &cobra.Command{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if near := suggestions(flags, unknown.GetSpecifiedName()); near != "" {
		return usagef("%v; did you mean --%s?", err, strings.ReplaceAll(near, " or ", " or --"))
	}
	return usagef("%v; see %s --help", err, cmd.CommandPath())
}

// notRunningError: no server runs on the data folder.
type notRunningError struct{ dataDir string }

func (e *notRunningError) Error() string {
	return fmt.Sprintf("Holm is not running on %s; start it with: holm serve (or set HOLM_URL and HOLM_ADMIN_TOKEN)", e.dataDir)
}

// report writes a failure in one line and gives the exit code: the one table.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	var (
		usage   *usageError
		setting *settings.Error
		problem *client.Problem
		lost    *client.UnreachableError
		ran     *exitError
	)
	if errors.As(err, &ran) && ran.message == "" {
		return ran.code
	}
	code, hint := exitFailed, ""
	switch {
	case errors.As(err, &usage):
		code = exitUsage
	case errors.As(err, &setting), errors.Is(err, bot.ErrSetup), errors.Is(err, embedded.ErrNoBinaries):
		code = exitSetup
	case ran != nil:
		code = ran.code
	case errors.As(err, &problem):
		code = exitOf(problem)
		if problem.Status == http.StatusUnauthorized {
			hint = "; is HOLM_ADMIN_TOKEN, or the agent's key, that of this server?"
		}
	case errors.As(err, &lost):
		hint = "; is holm serve running there?"
	case errors.Is(err, fs.ErrNotExist):
		code = exitNotFound
	}
	fmt.Fprintf(w, "holm: %s%s\n", oneLine(err.Error()), hint)
	return code
}
