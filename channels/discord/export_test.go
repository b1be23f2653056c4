package discord

import "time"

// Hasten makes c open its next socket at once, and answer taps provisionally
// after ack.
func (c *Channel) Hasten(ack time.Duration) {
	c.pauses = pauses{first: time.Millisecond, long: 20 * time.Millisecond, again: time.Millisecond, ack: ack}
}

// LayOut is the full layout of a card.
var LayOut = layOut

func (t text) Content() string     { return t.content }
func (t text) Description() string { return t.description }
