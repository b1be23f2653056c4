package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy/rulestore"
)

func (s *server) registerCircles() {
	handle(s, huma.Operation{
		OperationID: "list-circles", Method: http.MethodGet, Path: "/api/agents/{agentId}/circles",
		Summary: "List the circles of an agent with their members", Tags: []string{"people"},
	}, s.listCircles)
	handle(s, huma.Operation{
		OperationID: "join-circle", Method: http.MethodPut, Path: "/api/agents/{agentId}/circles/{circle}/members/{userId}",
		Summary: "Put a member of the agent into a circle", Description: "A circle is made with its first member; the answer has the rows that speak for it already.",
		Tags: []string{"people"},
	}, s.joinCircle)
	handle(s, huma.Operation{
		OperationID: "leave-circle", Method: http.MethodDelete, Path: "/api/agents/{agentId}/circles/{circle}/members/{userId}",
		Summary: "Take a member out of a circle", Tags: []string{"people"},
	}, s.leaveCircle)
	handle(s, huma.Operation{
		OperationID: "delete-circle", Method: http.MethodDelete, Path: "/api/agents/{agentId}/circles/{circle}",
		Summary: "Empty a circle", Description: "What rows allow to it ends with it. The answer says what ended.", Tags: []string{"people"},
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

// CircleJoined says which rows already speak for a circle that was empty.
type CircleJoined struct {
	Rules []rulestore.Row `json:"rules"`
}

// Lines says so in words.
func (j CircleJoined) Lines(string) (lines []string) {
	for _, row := range j.Rules {
		lines = append(lines, fmt.Sprintf("A rule speaks for the circle already: %s %s %s.", row.Effect, row.ResourceType, row.ResourceKey))
	}
	return lines
}

func (s *server) joinCircle(ctx context.Context, in *CircleMemberPath) (*oneOf[CircleJoined], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	out := oneOf[CircleJoined]{}
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		rules, err := s.Approvals.JoinCircle(ctx, tx, in.AgentID, in.Circle, in.UserID, theOperator)
		out.Body.Rules = append([]rulestore.Row{}, rules...)
		return err
	})
	return &out, err
}

func (s *server) leaveCircle(ctx context.Context, in *CircleMemberPath) (*oneOf[approvals.Endings], error) {
	return s.endingChange(ctx, in.AgentID, func(tx pgx.Tx) (approvals.Endings, error) {
		return s.Approvals.LeaveCircle(ctx, tx, in.AgentID, in.Circle, in.UserID, theOperator)
	})
}

func (s *server) deleteCircle(ctx context.Context, in *CirclePath) (*oneOf[approvals.Endings], error) {
	return s.endingChange(ctx, in.AgentID, func(tx pgx.Tx) (approvals.Endings, error) {
		return s.Approvals.DeleteCircle(ctx, tx, in.AgentID, in.Circle, theOperator)
	})
}
