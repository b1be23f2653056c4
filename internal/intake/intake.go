// Package intake bounds what requests may hold of this process before anybody
// has looked at them: how many there are at one time, how many bytes of bodies
// they keep in memory, for each caller and in all, and how long a body may take
// to arrive. What a request is about belongs to those who serve it.
package intake

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"holm/internal/fault"
)

// Limits are the bounds. Zero fields take their defaults.
type Limits struct {
	// Requests bounds those of one caller that are served at one time, calls that
	// wait for a person and event streams among them. Default 400.
	Requests int
	// Bytes and BytesPerCaller bound the bodies in memory. Defaults 256 MiB and
	// 32 MiB.
	Bytes, BytesPerCaller int64
	// Args bounds the arguments of one call, in bytes. Default 2 MiB.
	Args int
	// BodyTime is how long a body may take to arrive. Default 30 s.
	BodyTime time.Duration
}

const (
	// DefaultRequests leaves room for the 200 calls of a key that may be held.
	DefaultRequests       = 400
	DefaultBytes          = 256 << 20
	DefaultBytesPerCaller = 32 << 20
	DefaultArgs           = 2 << 20
	DefaultBodyTime       = 30 * time.Second
)

// Intake counts what is under way. Make it with New; all fronts of a process
// share one.
type Intake struct {
	Limits
	mu      sync.Mutex
	bytes   int64 // of all callers
	callers map[string]*load
}

// load is what requests hold.
type load struct {
	requests int
	bytes    int64
}

// New makes an Intake.
func New(l Limits) *Intake {
	return &Intake{callers: map[string]*load{}, Limits: Limits{
		Requests: cmp.Or(l.Requests, DefaultRequests),
		Bytes:    cmp.Or(l.Bytes, DefaultBytes), BytesPerCaller: cmp.Or(l.BytesPerCaller, DefaultBytesPerCaller),
		Args: cmp.Or(l.Args, DefaultArgs), BodyTime: cmp.Or(l.BodyTime, DefaultBodyTime),
	}}
}

// Codes of the refusals. Each is for now alone: the same request may pass later.
const (
	CodeBusyCaller = "too_many_requests"
	CodeBusy       = "busy"
)

var (
	errRequests   = fault.New(fault.Exhausted, CodeBusyCaller, "this caller has as many requests under way as it may have at one time; nothing was done, try again soon")
	errOwnBytes   = fault.New(fault.Exhausted, CodeBusyCaller, "the requests of this caller hold as many bytes as they may at one time; nothing was done, try again soon")
	errTotalBytes = fault.New(fault.Unavailable, CodeBusy, "the requests of all callers hold as many bytes as they may at one time; nothing was done, try again soon")
)

// Visit is one request of a proven caller.
type Visit struct {
	in     *Intake
	caller string
	bytes  int64
}

// Enter admits a request of caller until Leave.
func (i *Intake) Enter(caller string) (*Visit, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	own := i.callers[caller]
	if own == nil {
		own = &load{}
		i.callers[caller] = own
	}
	if own.requests >= i.Requests {
		return nil, errRequests
	}
	own.requests++
	return &Visit{in: i, caller: caller}, nil
}

// Leave gives back all that the visit holds.
func (v *Visit) Leave() {
	v.in.mu.Lock()
	defer v.in.mu.Unlock()
	own := v.in.callers[v.caller]
	own.requests--
	own.bytes -= v.bytes
	v.in.bytes -= v.bytes
	if own.requests == 0 {
		delete(v.in.callers, v.caller)
	}
}

// take reserves n further bytes.
func (v *Visit) take(n int64) error {
	v.in.mu.Lock()
	defer v.in.mu.Unlock()
	own := v.in.callers[v.caller]
	switch {
	case own.bytes+n > v.in.BytesPerCaller:
		return errOwnBytes
	case v.in.bytes+n > v.in.Bytes:
		return errTotalBytes
	}
	own.bytes += n
	v.in.bytes += n
	v.bytes += n
	return nil
}

// CheckArgs refuses arguments beyond the bound, before anything is done with
// them.
func (i *Intake) CheckArgs(args []byte) error {
	if len(args) <= i.Args {
		return nil
	}
	return fault.New(fault.Invalid, "args_too_large", "the arguments have %d bytes, and a call may have %d (HOLM_MAX_ARGS)", len(args), i.Args)
}

// LeaveUnread has the connection closed rather than a body read that nobody may
// send; it is called before the answer.
func LeaveUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// BodyDeadlines has the body of every request arrive in time, whoever reads it
// or leaves it unread. A body that stalls costs its connection.
func (i *Intake) BodyDeadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 && r.Body != nil {
			rc := http.NewResponseController(w)
			if rc.SetReadDeadline(time.Now().Add(i.BodyTime)) == nil {
				r.Body = &timed{ReadCloser: r.Body, arrived: func() { _ = rc.SetReadDeadline(time.Time{}) }}
			}
		}
		next.ServeHTTP(w, r)
	})
}
