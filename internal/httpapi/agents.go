package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
)

func (s *server) registerAgents() {
	handle(s, huma.Operation{
		OperationID: "list-agents", Method: http.MethodGet, Path: "/api/agents",
		Summary: "List agents", Tags: []string{"agents"},
	}, s.listAgents)
	handle(s, huma.Operation{
		OperationID: "create-agent", Method: http.MethodPost, Path: "/api/agents", DefaultStatus: http.StatusCreated,
		Summary: "Register an agent", Description: "The answer holds the only copy of its first access key.", Tags: []string{"agents"},
	}, s.createAgent)
	handle(s, huma.Operation{
		OperationID: "show-agent", Method: http.MethodGet, Path: "/api/agents/{agentId}",
		Summary: "Show an agent", Tags: []string{"agents"},
	}, s.showAgent)
	handle(s, huma.Operation{
		OperationID: "modify-agent", Method: http.MethodPatch, Path: "/api/agents/{agentId}",
		Summary: "Change an agent", Description: "How its calls are decided where rows say nothing; what is absent stays.", Tags: []string{"agents"},
	}, s.modifyAgent)
	handle(s, huma.Operation{
		OperationID: "remove-agent", Method: http.MethodDelete, Path: "/api/agents/{agentId}", DefaultStatus: http.StatusNoContent,
		Summary: "Remove an agent with its keys, rows, sessions and requests", Tags: []string{"agents"},
	}, s.removeAgent)
}

// AgentPath names the agent in a path. It is exported, like the other shared
// parts of inputs, because huma does not look into unexported ones.
type AgentPath struct {
	AgentID string `path:"agentId" example:"main"`
}

type (
	listOf[T any] struct{ Body []T }
	oneOf[T any]  struct{ Body T }
	nothing       struct{}
)

// list gives the output of a listing, an empty one as [].
func list[T any](items []T) *listOf[T] {
	return &listOf[T]{Body: append([]T{}, items...)}
}

func (s *server) listAgents(ctx context.Context, _ *nothing) (*listOf[identity.Agent], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	agents, err := identity.ListAgents(ctx, s.Pool)
	return list(agents), err
}

type modifyAgentInput struct {
	AgentPath
	Body struct {
		DefaultDecision    *string   `json:"defaultDecision,omitempty" enum:"allow,deny,require_approval"`
		AutonomyLevel      *string   `json:"autonomyLevel,omitempty" enum:"readonly,supervised,full" doc:"Deprecated: write policy rows."`
		RequireApprovalFor *[]string `json:"requireApprovalFor,omitempty" doc:"Deprecated: write policy rows. Tools that supervised has approved."`
		Access             string    `json:"access,omitempty" enum:"public,protected,private" doc:"What its bot does with strangers: takes them as guests, asks for the access token, or turns them away."`
		RotateAccessToken  bool      `json:"rotateAccessToken,omitempty" doc:"A protected agent gets a new access token."`
	}
}

// ModifiedAgent is an agent as it is now.
type ModifiedAgent struct {
	identity.Agent
	// AccessToken is the only copy of a token that was made.
	AccessToken string `json:"accessToken,omitempty" doc:"The only copy of the access token, when one was made."`
}

func (s *server) modifyAgent(ctx context.Context, in *modifyAgentInput) (*oneOf[ModifiedAgent], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	var out oneOf[ModifiedAgent]
	change := identity.AgentChange{
		DefaultDecision: in.Body.DefaultDecision, AutonomyLevel: in.Body.AutonomyLevel, RequireApprovalFor: in.Body.RequireApprovalFor,
	}
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		if in.Body.Access != "" || in.Body.RotateAccessToken {
			out.Body.AccessToken, err = identity.SetAccess(ctx, tx, in.AgentID, in.Body.Access, in.Body.RotateAccessToken, adminActor)
			if err != nil {
				return err
			}
		}
		if change == (identity.AgentChange{}) {
			out.Body.Agent, err = identity.GetAgent(ctx, tx, in.AgentID)
			return err
		}
		out.Body.Agent, err = identity.ModifyAgent(ctx, tx, in.AgentID, change, adminActor)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Rules.Changed(in.AgentID)
	return &out, nil
}

type createAgentInput struct {
	Body struct {
		Name string `json:"name" doc:"A letter, then letters, digits, - or _; at most 64." example:"main"`
	}
}

// AgentWithKey is a new agent with the only copy of its key.
type AgentWithKey struct {
	Agent identity.Agent `json:"agent"`
	Key   string         `json:"key"`
}

func (s *server) createAgent(ctx context.Context, in *createAgentInput) (*oneOf[AgentWithKey], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	var out oneOf[AgentWithKey]
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		if out.Body.Agent, err = identity.CreateAgent(ctx, tx, in.Body.Name, adminActor); err != nil {
			return err
		}
		out.Body.Key, err = identity.CreateKey(ctx, tx, in.Body.Name, "", nil, adminActor)
		return err
	}, identity.KeysChanged)
	return &out, err
}

func (s *server) showAgent(ctx context.Context, in *AgentPath) (*oneOf[identity.Agent], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	agent, err := identity.GetAgent(ctx, s.Pool, in.AgentID)
	return &oneOf[identity.Agent]{Body: agent}, err
}

func (s *server) removeAgent(ctx context.Context, in *AgentPath) (*nothing, error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.RemoveAgent(ctx, tx, in.AgentID, adminActor)
	}, identity.KeysChanged)
	if err == nil {
		s.Rules.Changed(in.AgentID)
	}
	return nil, err
}
