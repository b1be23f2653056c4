package slackfake

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Click presses, in the newest message of the direct chat that has it, the
// button with this label or action id.
func (p *Person) Click(button string) *Sent {
	p.server.t.Helper()
	m, b := p.find(button)
	return p.press(m, b)
}

// DoubleClick presses a button twice, as a restless finger does.
func (p *Person) DoubleClick(button string) (first, second *Sent) {
	p.server.t.Helper()
	m, b := p.find(button)
	return p.press(m, b), p.press(m, b)
}

// ClickAs presses a button of p's direct chat in the name of other: something
// Slack's own clients cannot do, and shared channels can.
func (p *Person) ClickAs(other *Person, button string) *Sent {
	p.server.t.Helper()
	m, b := p.find(button)
	return other.press(m, b)
}

// ClickIn presses a button of a message in any channel.
func (p *Person) ClickIn(m Message, button string) *Sent {
	p.server.t.Helper()
	for _, b := range m.Buttons() {
		if b.Label == button || b.ActionID == button {
			return p.press(m, b)
		}
	}
	p.server.t.Fatalf("slackfake: no button %q on the message; it shows %v", button, m.Buttons())
	return nil
}

// ClickForged sends a value that no button of the message carries.
func (p *Person) ClickForged(m Message, value string) *Sent {
	return p.press(m, Button{BlockID: hexID(5), ActionID: "forged", Label: "Forged", Value: value})
}

// ClickStale presses a button that a message of the direct chat had before it
// was edited, on a screen that has not noticed.
func (p *Person) ClickStale(button string) *Sent {
	p.server.t.Helper()
	for _, m := range backwards(p.Messages()) {
		for _, blocks := range m.Earlier {
			for _, b := range buttonsOf(blocks) {
				if b.Label == button || b.ActionID == button {
					return p.press(m, b)
				}
			}
		}
	}
	p.server.t.Fatalf("slackfake: no message of %s ever had the button %q", p.user.name, button)
	return nil
}

// find waits for a message with the button in the direct chat.
func (p *Person) find(button string) (Message, Button) {
	p.server.t.Helper()
	var message Message
	var found Button
	p.server.await(fmt.Sprintf("a message to %s with the button %q", p.user.name, button), func() bool {
		for _, m := range backwards(p.server.messages(p.server.direct(p.app, p.user).id)) {
			for _, b := range m.Buttons() {
				if b.Label == button || b.ActionID == button {
					message, found = m, b
					return true
				}
			}
		}
		return false
	})
	return message, found
}

func backwards(list []Message) []Message {
	out := make([]Message, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i])
	}
	return out
}

// press sends the block_actions payload of one press.
func (p *Person) press(m Message, b Button) *Sent {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[m.Channel]
	now := s.conversations[m.Channel].message(m.TS)
	if now == nil {
		now = &m
	}
	trigger := s.trigger(s.appOf(m), p.user)
	name := "directmessage"
	if !c.im {
		name = c.name
	}
	return s.send(s.appOf(m), Interactive, fmt.Sprintf("%s's click on %q", p.user.name, b.Label), trigger, answer{
		"type": "block_actions", "api_app_id": m.App, "token": "verification-token", "trigger_id": trigger,
		"user": answer{
			"id": p.user.id, "username": p.user.name, "name": p.user.name, "team_id": p.user.team,
		},
		"team": answer{"id": c.team, "domain": strings.ToLower(c.team)}, "enterprise": nil, "is_enterprise_install": false,
		"channel":   answer{"id": c.id, "name": name},
		"container": answer{"type": "message", "message_ts": m.TS, "channel_id": c.id, "is_ephemeral": false},
		"message":   s.wire(now), "state": answer{"values": answer{}},
		"response_url": s.responseURL(s.appOf(m), c, now, p.user.id),
		"actions":      []answer{s.pressed(b)},
	})
}

// pressed is the press of b in a block_actions payload.
func (s *Server) pressed(b Button) answer {
	action := answer{
		"type": "button", "action_id": b.ActionID, "block_id": b.BlockID, "action_ts": s.stamp(),
		"text": answer{"type": "plain_text", "text": b.Label, "emoji": true},
	}
	if b.Value != "" {
		action["value"] = b.Value
	}
	if b.Style != "" {
		action["style"] = b.Style
	}
	return action
}

// appOf is the app that wrote m: interactions go to it, whoever clicks.
func (s *Server) appOf(m Message) *app {
	for _, a := range s.apps {
		if a.ID == m.App {
			return a
		}
	}
	s.t.Errorf("slackfake: a click on a message that no app wrote")
	return s.apps[0]
}

// Deliver sends app n an envelope made by the test, for payloads that no
// person here can cause.
func (s *Server) Deliver(n int, kind, eventID string, payload json.RawMessage) *Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fields answer
	if err := json.Unmarshal(payload, &fields); err != nil {
		s.t.Errorf("slackfake: a payload that is not an object: %v", err)
	}
	return s.send(s.apps[n], kind, "a payload made by the test", eventID, fields)
}
