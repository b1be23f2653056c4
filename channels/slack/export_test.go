package slack

import "time"

// SetPingLimit changes how long the socket may be quiet.
func (c *Channel) SetPingLimit(d time.Duration) { c.pingLimit = d }
