package upstream

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"time"
)

// Config is what all upstreams of a process share. Each zero value means the
// default named beside it.
type Config struct {
	// Logger tells of state changes; nil means slog.Default().
	Logger *slog.Logger
	// OnChange is called, from the goroutine of Run, each time the tools of
	// the server become others than before, and before anybody is given the new
	// ones. It must not block and not call the client. May be nil.
	OnChange func()
	// OnNotify gets the notifications that are no part of a call: lists of
	// prompts and resources that changed, resources that were updated. It is
	// called from the goroutine that reads and must not block. May be nil.
	OnNotify func(method string, params json.RawMessage)
	// ClientName and ClientVersion are how the gateway introduces itself;
	// "holm" and "0".
	ClientName, ClientVersion string
	// StartTimeout bounds one attempt to connect, handshake included; 60 s,
	// because package runners download on their first start.
	StartTimeout time.Duration
	// ListTimeout bounds the reading of the whole tools list; 60 s.
	ListTimeout time.Duration
	// MaxCallTime ends a call however much progress it reports; 1 h.
	MaxCallTime time.Duration
	// RetryMin and RetryMax bound the pause between attempts; 250 ms and 30 s.
	RetryMin, RetryMax time.Duration
	// TellEvery is how often the log hears of a server that stays down for the
	// same reason; 10 min.
	TellEvery time.Duration
	// DrainTimeout is how long Run waits for calls in flight at its end; 5 s.
	DrainTimeout time.Duration
	// PingTimeout is how long a server that let several calls in a row time out
	// has to show a sign of life before it is started anew; 10 s.
	PingTimeout time.Duration
	// StopGrace is the time a child gets after EOF, and again after SIGTERM; 2 s.
	StopGrace time.Duration
	// MaxMessage bounds one message from an upstream in bytes; 64 MiB.
	MaxMessage int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.OnChange == nil {
		c.OnChange = func() {}
	}
	if c.OnNotify == nil {
		c.OnNotify = func(string, json.RawMessage) {}
	}
	c.ClientName = cmp.Or(c.ClientName, "holm")
	c.ClientVersion = cmp.Or(c.ClientVersion, "0")
	c.StartTimeout = cmp.Or(c.StartTimeout, time.Minute)
	c.ListTimeout = cmp.Or(c.ListTimeout, time.Minute)
	c.MaxCallTime = cmp.Or(c.MaxCallTime, time.Hour)
	c.RetryMin = cmp.Or(c.RetryMin, 250*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, 30*time.Second)
	c.TellEvery = cmp.Or(c.TellEvery, 10*time.Minute)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 5*time.Second)
	c.PingTimeout = cmp.Or(c.PingTimeout, 10*time.Second)
	c.StopGrace = cmp.Or(c.StopGrace, 2*time.Second)
	c.MaxMessage = cmp.Or(c.MaxMessage, 64<<20)
	return c
}
