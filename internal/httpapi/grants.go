package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holm/approvals"
	"holm/internal/fault"
)

func (s *server) registerGrants() {
	const description = "Takes back what an approved request has left; it is named like its request. What runs already runs on. " +
		"404: it left nothing. 409 already_revoked: by whom and when. 410 grant_over: it is used up or over."
	handle(s, huma.Operation{
		OperationID: "list-grants", Method: http.MethodGet, Path: "/api/agents/{agentId}/grants",
		Summary: "List what approvals still let through, the newest first", Tags: []string{"approvals"},
	}, s.listGrants)
	handle(s, huma.Operation{
		OperationID: "revoke-grant", Method: http.MethodDelete, Path: "/api/agents/{agentId}/grants/{id}",
		Summary: "Revoke what an approval left", Description: description, Tags: []string{"approvals"},
	}, s.revokeGrant)
	handle(s, huma.Operation{
		OperationID: "revoke-grant-by-number", Method: http.MethodDelete, Path: "/api/agents/{agentId}/grants/by-short/{shortId}",
		Summary: "Revoke what an approval left, by the number that people type", Description: description, Tags: []string{"approvals"},
	}, s.revokeGrantByShort)
}

// owns lets the operator and the agent's owners through.
func (s *server) owns(ctx context.Context, agentID string) error {
	see, err := s.sees(ctx, agentID)
	if err == nil && see.requester != "" {
		err = fault.New(fault.Forbidden, "forbidden", "only an owner of agent %q may do this", agentID)
	}
	return err
}

func (s *server) listGrants(ctx context.Context, in *AgentPath) (*listOf[approvals.Grant], error) {
	if err := s.owns(ctx, in.AgentID); err != nil {
		return nil, err
	}
	grants, err := approvals.Grants(ctx, s.Pool, in.AgentID, "")
	return list(grants), err
}

func (s *server) revokeGrant(ctx context.Context, in *ApprovalPath) (*oneOf[approvals.Grant], error) {
	if err := s.owns(ctx, in.AgentID); err != nil {
		return nil, err
	}
	return s.revoke(ctx, in.AgentID, in.ID)
}

func (s *server) revokeGrantByShort(ctx context.Context, in *ShortPath) (*oneOf[approvals.Grant], error) {
	if err := s.owns(ctx, in.AgentID); err != nil {
		return nil, err
	}
	r, err := approvals.GetShort(ctx, s.Pool, in.AgentID, int(in.ShortID))
	if err != nil {
		return nil, err
	}
	return s.revoke(ctx, in.AgentID, r.ID)
}

// theOperator ends approvals, by the admin token.
var theOperator = approvals.Actor{Admin: true, Name: "the operator", Via: "api"}

func (s *server) revoke(ctx context.Context, agentID, requestID string) (*oneOf[approvals.Grant], error) {
	c := callerOf(ctx)
	actor := approvals.Actor{UserID: c.requester, Name: c.name, Via: c.channel}
	if c.operator {
		actor = theOperator
	}
	grant, err := s.Approvals.Revoke(ctx, agentID, requestID, actor)
	return &oneOf[approvals.Grant]{Body: grant}, err
}
