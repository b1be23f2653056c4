package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
)

func (s *server) registerCircles() {
	handle(s, huma.Operation{
		OperationID: "list-circles", Method: http.MethodGet, Path: "/api/agents/{agentId}/circles",
		Summary: "List the circles of an agent with their members", Tags: []string{"people"},
	}, s.listCircles)
	handle(s, huma.Operation{
		OperationID: "join-circle", Method: http.MethodPut, Path: "/api/agents/{agentId}/circles/{circle}/members/{userId}",
		DefaultStatus: http.StatusNoContent,
		Summary:       "Put a member of the agent into a circle", Description: "A circle is made with its first member.",
		Tags: []string{"people"},
	}, s.joinCircle)
	handle(s, huma.Operation{
		OperationID: "leave-circle", Method: http.MethodDelete, Path: "/api/agents/{agentId}/circles/{circle}/members/{userId}",
		DefaultStatus: http.StatusNoContent, Summary: "Take a member out of a circle", Tags: []string{"people"},
	}, s.leaveCircle)
	handle(s, huma.Operation{
		OperationID: "delete-circle", Method: http.MethodDelete, Path: "/api/agents/{agentId}/circles/{circle}",
		DefaultStatus: http.StatusNoContent,
		Summary:       "Empty a circle", Description: "Policy rows that grant to it stay and speak for nobody.", Tags: []string{"people"},
	}, s.deleteCircle)
}

func (s *server) listCircles(ctx context.Context, in *AgentPath) (*listOf[identity.Circle], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	circles, err := identity.Circles(ctx, s.Pool, in.AgentID)
	return list(circles), err
}

// CirclePath names a circle of an agent.
type CirclePath struct {
	AgentPath
	Circle string `path:"circle"`
}

// CircleMemberPath names a person in a circle.
type CircleMemberPath struct {
	CirclePath
	UserID string `path:"userId"`
}

func (s *server) joinCircle(ctx context.Context, in *CircleMemberPath) (*nothing, error) {
	return nil, s.changeCircle(ctx, in.AgentID, func(tx pgx.Tx) error {
		return identity.AddToCircle(ctx, tx, in.AgentID, in.Circle, in.UserID, adminActor)
	})
}

func (s *server) leaveCircle(ctx context.Context, in *CircleMemberPath) (*nothing, error) {
	return nil, s.changeCircle(ctx, in.AgentID, func(tx pgx.Tx) error {
		return identity.RemoveFromCircle(ctx, tx, in.AgentID, in.Circle, in.UserID, adminActor)
	})
}

func (s *server) deleteCircle(ctx context.Context, in *CirclePath) (*nothing, error) {
	return nil, s.changeCircle(ctx, in.AgentID, func(tx pgx.Tx) error {
		return identity.DeleteCircle(ctx, tx, in.AgentID, in.Circle, adminActor)
	})
}

func (s *server) changeCircle(ctx context.Context, agentID string, change func(pgx.Tx) error) error {
	if err := s.manages(ctx, agentID); err != nil {
		return err
	}
	return s.peopleChange(ctx, agentID, change)
}
