package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holm/internal/fault"
	"holm/internal/session"
)

func (s *server) registerSessions() {
	handle(s, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/api/agents/{agentId}/sessions",
		Summary: "List sessions, the newest first", Tags: []string{"sessions"},
		Description: "An agent's key and a person who is no owner see their own sessions alone.",
	}, s.listSessions)
	handle(s, huma.Operation{
		OperationID: "show-session", Method: http.MethodGet, Path: "/api/agents/{agentId}/sessions/{sessionId}",
		Summary: "Show a session", Tags: []string{"sessions"},
	}, s.showSession)
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
	sessions, err := session.List(ctx, s.Pool, in.AgentID, see.requester, in.Limit)
	return list(sessions), err
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
	if err == nil && !see.covers(found.RequesterID) {
		return session.Session{}, fault.NotFoundf("no session %q", id)
	}
	return found, err
}
