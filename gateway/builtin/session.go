package builtin

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holm/gateway"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
)

func sessionTools(c Config) []gateway.Builtin {
	return []gateway.Builtin{{
		Name: "session_list", Description: "List the newest conversations: all of them with the agent's own key, else one's own.",
		Schema: schema(`{"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}}`),
		Run:    c.listSessions,
	}, {
		Name: "session_read", Description: "Read the newest events of a conversation, oldest first: user_message, agent_message, tool_call and so on.",
		Schema: schema(`{"sessionId":{"type":"string"},
			"before":{"type":"integer","description":"the id of an event: read those before it"},
			"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}}`, "sessionId"),
		Run: c.readSession,
	}, {
		Name: "session_send", Description: "Say something in a conversation. With the agent's own key, also where it acts on behalf of a person, it is the agent's answer, which comes into the person's chat.",
		Schema: schema(`{"sessionId":{"type":"string"},"text":{"type":"string"}}`, "sessionId", "text"),
		Run:    c.sendInSession,
	}}
}

// conversations are what the agent's own key sees beside its own sessions.
var conversations = []session.Kind{session.Chat, session.API}

func isAgent(call gateway.BuiltinCall) bool { return call.UserID == "" }

func (c Config) listSessions(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	in := struct {
		Limit int `json:"limit"`
	}{Limit: 50}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	if in.Limit < 1 || in.Limit > 200 {
		return nil, fault.Invalidf("limit: want 1 to 200")
	}
	var also []session.Kind
	if isAgent(call) {
		also = conversations
	}
	list, err := session.List(ctx, c.Pool, call.AgentID, call.RequesterID(), in.Limit, also...)
	if list == nil {
		list = []session.Session{}
	}
	return map[string]any{"sessions": list}, err
}

func (c Config) readSession(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	in := struct {
		SessionID string `json:"sessionId"`
		Before    int64  `json:"before"`
		Limit     int    `json:"limit"`
	}{Limit: 50}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	if in.Limit < 1 || in.Limit > 200 || in.Before < 0 {
		return nil, fault.Invalidf("limit: want 1 to 200, and before an event's id")
	}
	s, err := c.conversation(ctx, call, in.SessionID)
	if err != nil {
		return nil, err
	}
	events, err := session.Events(ctx, c.Pool, call.AgentID, s.ID, in.Before, in.Limit)
	if events == nil {
		events = []session.Event{}
	}
	return map[string]any{"session": s, "events": events}, err
}

// conversation gives a session that the caller may see; others look unknown.
func (c Config) conversation(ctx context.Context, call gateway.BuiltinCall, id string) (session.Session, error) {
	s, err := session.Get(ctx, c.Pool, call.AgentID, id)
	if err != nil {
		return s, err
	}
	own, err := identity.Same(ctx, c.Pool, s.RequesterID, call.RequesterID())
	if err != nil || own {
		return s, err
	}
	if isAgent(call) && (s.Kind == session.Chat || s.Kind == session.API) {
		return s, nil
	}
	return session.Session{}, fault.NotFoundf("no session %q", id)
}

func (c Config) sendInSession(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		SessionID string `json:"sessionId"`
		Text      string `json:"text"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	s, err := c.conversation(ctx, call, in.SessionID)
	if err != nil {
		return nil, err
	}
	said, speaker := session.Message{Text: in.Text}, call.RequesterID()
	if call.OnBehalf { // the words are the program's
		speaker = identity.AgentRequester(call.AgentID)
	} else if !isAgent(call) {
		if said.Name, err = identity.UserName(ctx, c.Pool, call.UserID); err != nil {
			return nil, err
		}
	}
	var id int64
	err = db.InTx(ctx, c.Pool, func(tx pgx.Tx) (err error) {
		id, err = session.Post(ctx, tx, c.Approvals.Jobs, s, speaker, said)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.Hub.Publish(session.Keys(call.AgentID, s.ID)...)
	return map[string]any{"id": id}, nil
}
