package main

import (
	"cmp"
	"encoding/json"
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

// wantedValues say, by the type of a flag, what a wrong value is.
var wantedValues = map[string]string{
	"int": "not a whole number", "int64": "not a whole number", "bool": "neither true nor false",
}

// flagError names a flag that is spelled almost like the unknown one, and says of
// a number what is none.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		want := cmp.Or(wantedValues[value.GetFlag().Value.Type()], "no value that it takes")
		return usagef("--%s: %q is %s; see %s --help", value.GetFlag().Name, value.GetValue(), want, cmd.CommandPath())
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

// failure is how a command fails, for people and for programs.
type failure struct {
	// Code is stable, in snake_case: the server's own, or one of failureCodes.
	Code    string `json:"code"`
	Message string `json:"message"`
	Exit    int    `json:"exitCode"`
	// Status is the server's HTTP status, where it was the one that refused.
	Status int `json:"status,omitempty"`
}

// failureCodes name what fails without a word of the server, by exit code.
var failureCodes = map[int]string{
	exitUsage: "usage", exitNotFound: "not_found", exitDenied: "access_denied", exitPending: "approval_required",
	exitSetup: "setup", exitNotRunnable: "not_runnable", exitNoProgram: "no_program",
}

// failureOf is the one table of this edge. quiet tells that the command has spoken.
func failureOf(err error) (f failure, quiet bool) {
	var (
		usage   *usageError
		setting *settings.Error
		problem *client.Problem
		lost    *client.UnreachableError
		ran     *exitError
	)
	if errors.As(err, &ran) && ran.message == "" {
		return failure{Exit: ran.code}, true
	}
	f, hint := failure{Exit: exitFailed}, ""
	switch {
	case errors.As(err, &usage):
		f.Exit = exitUsage
	case errors.As(err, &setting), errors.Is(err, bot.ErrSetup), errors.Is(err, embedded.ErrNoBinaries):
		f.Exit = exitSetup
	case ran != nil:
		f.Exit = ran.code
	case errors.As(err, &problem):
		f.Exit, f.Code, f.Status = exitOf(problem), problem.Code, problem.Status
		if problem.Status == http.StatusUnauthorized {
			hint = "; is HOLM_ADMIN_TOKEN, or the agent's key, that of this server?"
		}
	case errors.As(err, &lost):
		f.Code, hint = "unreachable", "; is holm serve running there?"
	case errors.Is(err, fs.ErrNotExist):
		f.Exit = exitNotFound
	}
	f.Code = cmp.Or(f.Code, failureCodes[f.Exit], "failed")
	f.Message = oneLine(err.Error()) + hint
	return f, false
}

// report writes a failure in one line, or as one JSON object, and gives the exit code.
func report(w io.Writer, err error, asJSON bool) int {
	if err == nil {
		return exitDone
	}
	f, quiet := failureOf(err)
	switch {
	case quiet:
	case asJSON:
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(f) // there is nowhere else to say it
	default:
		fmt.Fprintf(w, "holm: %s\n", f.Message)
	}
	return f.Exit
}

// wantsJSON tells whether a command line asks for JSON, also where it could not be
// read to its end.
func wantsJSON(root *cobra.Command, args []string, err error) bool {
	if on, _ := root.PersistentFlags().GetBool("json"); on {
		return true
	}
	var usage *usageError
	if !errors.As(err, &usage) {
		return false
	}
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	return false
}
