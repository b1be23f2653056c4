package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/slack-go/slack/socketmode"
)

// envelope is one thing Slack delivered, as the inbox keeps it.
type envelope struct {
	envelopeID string // of Socket Mode alone
	id         string
	apology    any // the answer when it cannot be stored, nil for none
	payload    json.RawMessage
}

// kept is the form of stored payloads; Decode reads it.
type kept struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// envelopeOf is the envelope in ev. A payload that slack-go cannot read is
// taken from the raw message: it must be acknowledged as well, or Slack sends
// it again and in the end stops sending at all.
func envelopeOf(ev socketmode.Event) (envelope, bool) {
	req := ev.Request
	if bad, ok := ev.Data.(*socketmode.ErrorBadMessage); ok {
		req = &socketmode.Request{}
		if json.Unmarshal(bad.Message, req) != nil {
			return envelope{}, false
		}
	}
	if req == nil || req.EnvelopeID == "" || len(req.Payload) == 0 {
		return envelope{}, false
	}
	e, ok := seal(req.Type, req.Payload)
	e.envelopeID = req.EnvelopeID
	return e, ok
}

// seal is what the inbox keeps of a payload; ok is false when it is not JSON.
func seal(kind string, payload json.RawMessage) (envelope, bool) {
	stored, err := json.Marshal(kept{Type: kind, Payload: withoutSecrets(payload)})
	if err != nil {
		return envelope{}, false
	}
	return envelope{id: eventID(kind, payload), apology: apologyFor(kind, payload), payload: stored}, true
}

// withoutSecrets leaves out the old verification token and the address that
// lets anybody post in the app's name: neither is used, so neither is kept.
func withoutSecrets(payload json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil || fields == nil {
		return payload
	}
	delete(fields, "token")
	delete(fields, "response_url")
	delete(fields, "response_urls")
	rest, err := json.Marshal(fields)
	if err != nil {
		return payload
	}
	return rest
}

// eventID is the same for each delivery of one event. Envelope ids are not:
// Slack makes a new one when it sends an event again.
func eventID(kind string, payload json.RawMessage) string {
	switch kind {
	case socketmode.RequestTypeEventsAPI:
		var ev struct {
			EventID string `json:"event_id"`
		}
		if json.Unmarshal(payload, &ev) == nil && ev.EventID != "" {
			return ev.EventID
		}
	case socketmode.RequestTypeInteractive:
		var p interaction
		if json.Unmarshal(payload, &p) == nil && len(p.Actions) == 1 && p.Actions[0].ActionTS != "" {
			a := p.Actions[0]
			return strings.Join([]string{"action", p.team(), p.User.ID, p.message().Message, a.ActionID, a.ActionTS}, ":")
		}
	case socketmode.RequestTypeSlashCommands:
		var cmd command
		if json.Unmarshal(payload, &cmd) == nil && cmd.TriggerID != "" {
			return "command:" + cmd.TriggerID
		}
	}
	sum := sha256.Sum256(payload)
	return kind + ":" + hex.EncodeToString(sum[:])
}
