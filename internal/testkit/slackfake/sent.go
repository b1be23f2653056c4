package slackfake

import (
	"fmt"
	"time"
)

// Acked waits until the app has acknowledged, and fails the test when it does
// not.
func (sent *Sent) Acked() {
	sent.server.t.Helper()
	select {
	case <-sent.acked:
	case <-sent.over:
		sent.server.t.Fatalf("slackfake: %s failed: %s", sent.what, sent.Failure())
	case <-time.After(patience):
		sent.server.t.Fatalf("slackfake: %s was not acknowledged", sent.what)
	}
}

// Failed waits until the person sees that the app does not answer, or until
// Slack has given an event up, and returns why.
func (sent *Sent) Failed() string {
	sent.server.t.Helper()
	select {
	case <-sent.over:
	case <-sent.acked:
		sent.server.t.Fatalf("slackfake: %s was acknowledged", sent.what)
	case <-time.After(patience):
		sent.server.t.Fatalf("slackfake: %s has not failed", sent.what)
	}
	return sent.Failure()
}

// Failure is why it failed, empty while it has not.
func (sent *Sent) Failure() string {
	sent.server.mu.Lock()
	defer sent.server.mu.Unlock()
	return sent.failure
}

// Deliveries are the envelopes so far.
func (sent *Sent) Deliveries() []Delivery {
	sent.server.mu.Lock()
	defer sent.server.mu.Unlock()
	return copies(sent.deliveries)
}

// WaitDeliveries waits for n envelopes.
func (sent *Sent) WaitDeliveries(n int) []Delivery {
	sent.server.t.Helper()
	sent.server.await(fmt.Sprintf("%d deliveries of %s", n, sent.what), func() bool { return len(sent.deliveries) >= n })
	return sent.Deliveries()
}

// Again delivers the same thing in a new envelope, as Slack does at times
// without reason, and returns when it was acknowledged.
func (sent *Sent) Again() {
	s := sent.server
	s.t.Helper()
	s.await("a receiver", func() bool { return sent.app.address != "" || len(sent.app.receivers()) > 0 })
	s.mu.Lock()
	if sent.app.address != "" {
		s.call(s.newDelivery(sent, nil))
	} else {
		s.deliver(sent, sent.app.receivers()[0])
	}
	d := sent.deliveries[len(sent.deliveries)-1]
	s.mu.Unlock()
	s.await("the second acknowledgement of "+sent.what, func() bool { return !d.Acked.IsZero() })
}

// Deliveries are all envelopes of all apps so far.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Delivery
	for _, sent := range s.sents {
		all = append(all, copies(sent.deliveries)...)
	}
	return all
}

func copies(list []*Delivery) []Delivery {
	out := make([]Delivery, len(list))
	for i, d := range list {
		out[i] = *d
	}
	return out
}

// AllowUnacked accepts from now on that envelopes are not acknowledged; without
// it that fails the test.
func (s *Server) AllowUnacked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowUnacked = true
}

// LoseEvents makes events vanish, from now on, that come while no socket is
// open.
func (s *Server) LoseEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseEvents = true
}
