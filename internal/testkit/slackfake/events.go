package slackfake

import (
	"fmt"
	"maps"
)

// callback is the outer part of an Events API payload.
func (s *Server) callback(a *app, event answer) (id string, payload answer) {
	n := s.next()
	id = fmt.Sprintf("Ev0%08d", n)
	return id, answer{
		"token": "verification-token", "team_id": a.Team, "context_team_id": a.Team, "api_app_id": a.ID,
		"event": event, "type": "event_callback", "event_id": id, "event_time": s.now().Unix(),
		"authorizations": []answer{{
			"enterprise_id": nil, "team_id": a.Team, "user_id": a.BotUser, "is_bot": true, "is_enterprise_install": false,
		}},
		"is_ext_shared_channel": false, "event_context": "4-" + hexID(24),
	}
}

// sendMessageEvent tells the app of a message in its direct chat, also of its
// own.
func (s *Server) sendMessageEvent(a *app, c *conversation, m *Message) *Sent {
	event := s.wire(m)
	maps.Copy(event, answer{"channel": c.id, "channel_type": "im", "event_ts": m.TS})
	id, payload := s.callback(a, event)
	return s.send(a, EventsAPI, fmt.Sprintf("the message %.40q", m.Text), id, payload)
}

// sendChangedEvent tells the app of an edit in its direct chat.
func (s *Server) sendChangedEvent(a *app, c *conversation, m *Message) *Sent {
	id, payload := s.callback(a, answer{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.id, "channel_type": "im",
		"ts": s.stamp(), "event_ts": m.TS, "message": s.wire(m), "previous_message": s.wire(m),
	})
	return s.send(a, EventsAPI, "the edit of a message", id, payload)
}

// mentionEvent tells the app that somebody spoke to it in a channel.
func (s *Server) mentionEvent(a *app, c *conversation, m *Message) *Sent {
	event := s.wire(m)
	maps.Copy(event, answer{"type": "app_mention", "channel": c.id, "event_ts": m.TS})
	id, payload := s.callback(a, event)
	return s.send(a, EventsAPI, fmt.Sprintf("the mention %.40q", m.Text), id, payload)
}
