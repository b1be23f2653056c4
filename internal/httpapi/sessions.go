package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/session"
)

func (s *server) registerSessions() {
	handle(s, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/api/agents/{agentId}/sessions",
		Summary: "List sessions, the newest first", Tags: []string{"sessions"},
		Description: "A person who is no owner sees their own sessions alone; an agent's key its own and the conversations of people.",
	}, s.listSessions)
	handle(s, huma.Operation{
		OperationID: "begin-session", Method: http.MethodPost, Path: "/api/agents/{agentId}/sessions", DefaultStatus: http.StatusCreated,
		Summary: "Begin a session of one's own", Tags: []string{"sessions"},
	}, s.beginSession)
	handle(s, huma.Operation{
		OperationID: "show-session", Method: http.MethodGet, Path: "/api/agents/{agentId}/sessions/{sessionId}",
		Summary: "Show a session", Tags: []string{"sessions"},
	}, s.showSession)
	handle(s, huma.Operation{
		OperationID: "end-session", Method: http.MethodPost, Path: "/api/agents/{agentId}/sessions/{sessionId}/end",
		Summary: "End a conversation", Tags: []string{"sessions"},
		Description: "The agent's programs make no call on behalf of its person any more, and what is held for an approval there does not run; " +
			"who writes in that chat again begins a new one. For all who see it; again it changes nothing. 422 for sessions of keys and connections.",
	}, s.endSession)
	handle(s, huma.Operation{
		OperationID: "post-message", Method: http.MethodPost, Path: "/api/agents/{agentId}/sessions/{sessionId}/messages", DefaultStatus: http.StatusCreated,
		Summary: "Say something in a session", Tags: []string{"sessions"},
		Description: "With the agent's own key it is an agent_message, which a chat session brings to its person's chat; from the person whose session it is, a user_message.",
	}, s.postMessage)
}

type listSessionsInput struct {
	AgentPath
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func (s *server) listSessions(ctx context.Context, in *listSessionsInput) (*listOf[session.Session], error) {
	see, err := s.sees(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	var also []session.Kind
	if see.answers {
		also = conversations
	}
	sessions, err := session.List(ctx, s.Pool, in.AgentID, see.requester, in.Limit, also...)
	return list(sessions), err
}

func (s *server) beginSession(ctx context.Context, in *AgentPath) (*oneOf[session.Session], error) {
	if err := s.known(ctx, in.AgentID); err != nil {
		return nil, err
	}
	begun := session.Session{ID: "api:" + uuid.Must(uuid.NewV7()).String(), AgentID: in.AgentID, Kind: session.API, RequesterID: callerOf(ctx).requester}
	if begun.RequesterID == "" {
		return nil, fault.New(fault.Forbidden, "forbidden", "only an agent's key or a known person has sessions")
	}
	if err := session.Ensure(ctx, s.Pool, begun); err != nil {
		return nil, err
	}
	begun, err := session.Get(ctx, s.Pool, begun.AgentID, begun.ID)
	return &oneOf[session.Session]{Body: begun}, err
}

// SessionPath names a session in a path.
type SessionPath struct {
	AgentPath
	SessionID string `path:"sessionId" doc:"Percent-encoded." example:"key%3Aabc"`
}

func (s *server) showSession(ctx context.Context, in *SessionPath) (*oneOf[session.Session], error) {
	found, err := s.session(ctx, in.AgentID, in.SessionID)
	return &oneOf[session.Session]{Body: found}, err
}

// session gives a session that the caller may see; others look unknown.
func (s *server) session(ctx context.Context, agentID, id string) (session.Session, error) {
	see, err := s.sees(ctx, agentID)
	if err != nil {
		return session.Session{}, err
	}
	found, err := session.Get(ctx, s.Pool, agentID, id)
	if err == nil && !see.coversSession(found) {
		return session.Session{}, fault.NotFoundf("no session %q", id)
	}
	return found, err
}

func (s *server) endSession(ctx context.Context, in *SessionPath) (*oneOf[session.Session], error) {
	found, err := s.session(ctx, in.AgentID, in.SessionID)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(conversations, found.Kind) {
		return nil, fault.Invalidf("session %q is none in which people talk", found.ID)
	}
	if err := session.End(ctx, s.Pool, found.ID); err != nil {
		return nil, err
	}
	found, err = session.Get(ctx, s.Pool, in.AgentID, found.ID)
	return &oneOf[session.Session]{Body: found}, err
}

type postMessageInput struct {
	SessionPath
	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"100000"`
	}
}

// PostedMessage names the event that a message became.
type PostedMessage struct {
	ID int64 `json:"id"`
}

func (s *server) postMessage(ctx context.Context, in *postMessageInput) (*oneOf[PostedMessage], error) {
	found, err := s.session(ctx, in.AgentID, in.SessionID)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	var out oneOf[PostedMessage]
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body.ID, err = session.Post(ctx, tx, s.Approvals.Jobs, found, c.requester, session.Message{Text: in.Body.Text, Name: c.name})
		return err
	}, session.Keys(in.AgentID, in.SessionID)...)
	return &out, err
}
