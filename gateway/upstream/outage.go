package upstream

import (
	"strings"
	"time"
)

// outage decides what of a server that fails again and again the log tells: the
// first failure, each other reason, else a sum after a while; and once that it is
// over. The loop of Run alone uses it.
type outage struct {
	every  time.Duration
	reason string    // of the last failure told; empty when all was well
	told   time.Time // when that was
	since  int       // failures after it
	up     bool      // the last word was that the server is up
}

// failed takes a failure. It gives how many there were since the last one told,
// this one included, or 0 when this one is not to be told.
func (o *outage) failed(reason string, now time.Time) int {
	o.since++
	if reason = wordsOf(reason); reason == o.reason && now.Sub(o.told) < o.every {
		return 0
	}
	failures := o.since
	o.reason, o.told, o.since, o.up = reason, now, 0, false
	return failures
}

// connected tells whether the log has to hear of a connection.
func (o *outage) connected() bool {
	tell := !o.up
	o.up = true
	return tell
}

// over is for a connection that was good: what fails next is new.
func (o *outage) over() { o.reason, o.since = "", 0 }

// wordsOf leaves out digits: ports, process ids and times make no other reason.
func wordsOf(reason string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, reason)
}
