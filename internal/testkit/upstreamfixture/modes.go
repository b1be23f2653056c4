package upstreamfixture

import (
	"os"
	"strings"
)

// The modes of both transports.
const (
	StdoutNoise    = "stdout-noise"    // banner and log lines on stdout
	StderrFlood    = "stderr-flood"    // 1 MiB on stderr at the start and in each call
	CrashMidCall   = "crash-mid-call"  // each call ends the process in the middle of its answer
	CrashAtStart   = "crash-at-start"  // ends at once
	CrashFirst     = "crash-first"     // ends at once when FIXTURE_STATE does not exist, and makes it
	IgnoreEOF      = "ignore-eof"      // lives on after the end of stdin
	IgnoreTerm     = "ignore-term"     // lives on after SIGTERM
	Grandchild     = "grandchild"      // starts a process that holds stdout; its pid is in FIXTURE_STATE
	SlowStart      = "slow-start"      // answers initialize after a second
	SilentStart    = "silent-start"    // never answers initialize
	DiesOnUnknown  = "dies-on-unknown" // ends when the first message is not initialize
	StopsReading   = "stops-reading"   // reads nothing after the handshake
	BlackHole      = "black-hole"      // answers neither calls nor pings
	DeafCalls      = "deaf-calls"      // answers no calls; says "method not found" to ping
	BadSchema      = "bad-schema"      // lists broken tools among good ones
	Paged          = "paged"           // lists one tool a page
	EndlessCursor  = "endless-cursor"  // gives the same cursor for ever
	GrowingCursor  = "growing-cursor"  // gives new cursors for ever
	NoResult       = "no-result"       // answers calls with neither result nor error
	NullResult     = "null-result"     // answers calls with result null
	EmptyResult    = "empty-result"    // answers calls with result {}
	BothAnswers    = "both-answers"    // answers calls with result and error
	LateProgress   = "late-progress"   // sends progress after the answer, and with foreign tokens
	UnknownVersion = "unknown-version" // agrees on a protocol nobody knows
)

// Modes of the HTTP handler only.
const (
	Unauthorized = "401"
	Forbidden    = "403"
	NotFound     = "404"
	TooMany      = "429"
	ServerError  = "500"
	BadGateway   = "502"
	HTML         = "html"         // a login page with status 200
	Accepted     = "202"          // accepts calls and never answers
	EchoSecret   = "echo-secret"  // a 400 that repeats the Authorization header
	Redirect     = "redirect"     // 307 to RedirectTo
	DropStream   = "drop-stream"  // ends the stream of a call before its answer
	Resume       = "resume"       // the same, and gives the answer to Last-Event-ID
	JSONAnswers  = "json"         // answers calls as JSON, not as a stream
	NoStream     = "no-stream"    // 405 to GET
	StreamCloses = "stream-close" // ends each GET stream at once
	Modern       = "modern"       // protocol 2026-07-28 only
	SessionIn400 = "session-400"  // says 400 with words for a session it does not know
)

// Environment variables of the child process.
const (
	envRun    = "HOLM_FIXTURE"
	envModes  = "FIXTURE_MODES"
	envLog    = "FIXTURE_LOG"
	envTrace  = "FIXTURE_TRACE"
	envState  = "FIXTURE_STATE"
	roleMain  = "server"
	roleSleep = "sleeper"
)

// Options are what a fixture is made of. Files that are not named are not
// written.
type Options struct {
	Modes []string
	// Log is the file to which record appends the raw arguments, one line each.
	Log string
	// Trace is a file to which each message that arrives is appended as a line.
	Trace string
	// State is the file of CrashFirst and Grandchild.
	State string
}

// Env makes a child process that calls RunIfAsked, or holm-fixture, run with
// these options.
func (o Options) Env() map[string]string {
	return map[string]string{
		envRun: roleMain, envModes: strings.Join(o.Modes, ","),
		envLog: o.Log, envTrace: o.Trace, envState: o.State,
	}
}

func optionsFromEnv() Options {
	return Options{
		Modes: strings.Split(os.Getenv(envModes), ","),
		Log:   os.Getenv(envLog), Trace: os.Getenv(envTrace), State: os.Getenv(envState),
	}
}
