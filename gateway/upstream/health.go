package upstream

import (
	"encoding/json"
	"time"
)

// State is where a connection stands.
type State string

// The states. Idle: nobody has asked for the server yet. Connecting: the first
// attempt, or the one at once after a loss; callers wait for it. Down: the last
// attempt failed, the next follows after a pause; callers are told at once.
const (
	Idle       State = "idle"
	Connecting State = "connecting"
	Up         State = "up"
	Down       State = "down"
)

// Health is a report on one server for people and metrics.
type Health struct {
	State State
	// LastError is why the server is or last was not up; "" if it always was.
	LastError string
	// Warning is what is odd about the tools list; "" if nothing is.
	Warning string
	// Since is when State last changed.
	Since time.Time
	// Restarts counts the connections after the first.
	Restarts int
	// SkippedLines counts what the server sent that was for nobody: text on
	// stdout, broken messages, answers to calls that were given up.
	SkippedLines int64
	// PID is the child process, 0 without one.
	PID int
	// StderrTail is the end of what the children wrote to stderr.
	StderrTail []string
	// ServerInfo is the raw serverInfo object, nil before the first handshake.
	ServerInfo json.RawMessage
	// Capabilities is the raw capabilities object of the server, likewise.
	Capabilities json.RawMessage
	// Protocol is the agreed revision, "" before the first handshake.
	Protocol string
}

// Health may be called at any time, by anybody.
func (c *Client) Health() Health {
	c.mu.Lock()
	h := c.health
	c.mu.Unlock()
	h.SkippedLines = c.skipped.Load()
	h.StderrTail = c.stderr.last()
	return h
}

// set changes the state and wakes those who wait for a change.
func (c *Client) set(state State, s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.health.State != state {
		c.health.State, c.health.Since = state, time.Now()
	}
	if err != nil {
		c.health.LastError = c.hide.text(err.Error())
		c.failure = err
	}
	c.current = s
	c.announce()
}

// announce wakes all waiters; c.mu is held.
func (c *Client) announce() {
	close(c.news)
	c.news = make(chan struct{})
}

func (c *Client) setPID(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.PID = pid
}

func (c *Client) skip() { c.skipped.Add(1) }
