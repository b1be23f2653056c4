package slackfake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// Kinds of envelopes.
const (
	EventsAPI     = "events_api"
	Interactive   = "interactive"
	SlashCommands = "slash_commands"
)

// Sent is something that a person did and that the app is told of, in one
// envelope or, when it does not acknowledge, in several.
type Sent struct {
	server     *Server
	app        *app
	kind       string
	what       string
	eventID    string
	payload    json.RawMessage
	deliveries []*Delivery
	attempts   int
	acked      chan struct{}
	over       chan struct{}
	isAcked    bool
	failure    string
	reason     string // of the next attempt
	person     string // who gave a command or sent a view
	view       *View  // that was sent
}

// Delivery is one envelope, or one call by HTTP with its Status.
type Delivery struct {
	EnvelopeID, Type, EventID string
	// Attempt is 0 for the first delivery, then retry_attempt; Reason is
	// retry_reason.
	Attempt        int
	Reason         string
	Sent, Acked    time.Time
	Status         int
	sent           *Sent
	socket         *socket
	acceptsPayload bool
}

// sendBy is send of what a person may be answered.
func (s *Server) sendBy(p *Person, kind, what, eventID string, payload answer) *Sent {
	return s.start(&Sent{app: p.app, kind: kind, what: what, eventID: eventID, person: p.user.id}, payload)
}

// send starts the delivery of something; the caller holds mu.
func (s *Server) send(a *app, kind, what, eventID string, payload answer) *Sent {
	return s.start(&Sent{app: a, kind: kind, what: what, eventID: eventID}, payload)
}

func (s *Server) start(sent *Sent, payload answer) *Sent {
	raw, err := json.Marshal(payload)
	if err != nil {
		s.t.Errorf("slackfake: %v", err)
	}
	sent.server, sent.payload = s, raw
	sent.acked, sent.over = make(chan struct{}), make(chan struct{})
	s.sents = append(s.sents, sent)
	if s.loseEvents && sent.app.address == "" && len(sent.app.receivers()) == 0 {
		s.giveUp(sent, "nobody was connected")
		return sent
	}
	s.attempt(sent)
	return sent
}

// attempt hands one envelope to one socket, or calls the app's address. Events wait for a socket when none
// is open; for the rest the person sees at once that the app does not answer.
func (s *Server) attempt(sent *Sent) {
	open := sent.app.receivers()
	switch {
	case sent.isAcked || sent.failure != "":
		return
	case sent.app.address != "":
		d := s.newDelivery(sent, nil)
		s.call(d)
		s.notify()
		return
	case len(open) == 0 && sent.kind == EventsAPI:
		sent.app.waiting = append(sent.app.waiting, sent)
		return
	case len(open) == 0:
		s.giveUp(sent, "nobody was connected")
		return
	}
	s.deliver(sent, open[rand.IntN(len(open))])
}

func (s *Server) newDelivery(sent *Sent, k *socket) *Delivery {
	d := &Delivery{
		EnvelopeID: fmt.Sprintf("%s-%s", hexID(8), hexID(12)), Type: sent.kind, EventID: sent.eventID,
		Attempt: sent.attempts, Sent: s.now(), sent: sent, socket: k, acceptsPayload: sent.kind != EventsAPI,
	}
	if sent.kind == EventsAPI && d.Attempt > 0 {
		d.Reason = cmp.Or(sent.reason, "timeout")
	}
	sent.deliveries = append(sent.deliveries, d)
	return d
}

func (s *Server) deliver(sent *Sent, k *socket) {
	d := s.newDelivery(sent, k)
	frame := answer{
		"type": d.Type, "envelope_id": d.EnvelopeID, "payload": sent.payload,
		"accepts_response_payload": d.acceptsPayload,
	}
	if sent.kind == EventsAPI {
		frame["retry_attempt"], frame["retry_reason"] = d.Attempt, d.Reason
	}
	k.pending[d.EnvelopeID] = d
	k.say(frame)
	s.after(s.opts.AckTimeout, func() { s.timedOut(d) })
	s.notify()
}

// answered is an acknowledgement that may carry a payload: a line for the
// person who gave a command.
func (s *Server) answered(d *Delivery, payload []byte) {
	if len(payload) > 0 && !d.acceptsPayload {
		s.t.Errorf("slackfake: the answer to %s carries a payload, which it must not: %.200s", d.sent.what, payload)
	}
	var line struct {
		ResponseType string `json:"response_type"`
		Text         string `json:"text"`
	}
	if d.Type == SlashCommands && json.Unmarshal(payload, &line) == nil && line.Text != "" && d.sent.person != "" {
		s.ephemerals[d.sent.person] = append(s.ephemerals[d.sent.person], Message{TS: s.stamp(), App: d.sent.app.ID, Text: line.Text})
	}
	if d.sent.view != nil && !d.sent.isAcked {
		s.submitted(d.sent, payload)
	}
	s.acked(d)
}

func (s *Server) acked(d *Delivery) {
	d.Acked = s.now()
	if !d.sent.isAcked {
		d.sent.isAcked = true
		close(d.sent.acked)
	}
	s.notify()
}

// timedOut is the fault of a client that was there and did not acknowledge.
func (s *Server) timedOut(d *Delivery) {
	if d.socket.pending[d.EnvelopeID] == nil {
		return
	}
	delete(d.socket.pending, d.EnvelopeID)
	if !s.allowUnacked && !d.socket.leaving {
		s.t.Errorf("slackfake: %s was not acknowledged within %s", d.sent.what, s.opts.AckTimeout)
	}
	s.lost(d, "no acknowledgement in time")
}

// lost sends an event again; for the rest it is the person who sees it.
func (s *Server) lost(d *Delivery, why string) {
	sent := d.sent
	if sent.isAcked || sent.failure != "" {
		return
	}
	if sent.kind != EventsAPI || sent.attempts >= len(s.opts.RetryDelays) {
		s.giveUp(sent, why)
		return
	}
	delay := s.opts.RetryDelays[sent.attempts]
	sent.attempts++
	s.after(delay, func() { s.attempt(sent) })
}

func (s *Server) giveUp(sent *Sent, why string) {
	sent.failure = why
	close(sent.over)
	s.notify()
}
