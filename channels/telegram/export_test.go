package telegram

import "time"

// HurryUp shortens the pauses after failures, so that tests see several of them.
func (c *Channel) HurryUp() {
	c.pauses = pauses{
		first: time.Millisecond, longest: 5 * time.Millisecond,
		conflictFirst: time.Millisecond, conflictLongest: 5 * time.Millisecond,
		hookCheck: time.Millisecond,
	}
}
