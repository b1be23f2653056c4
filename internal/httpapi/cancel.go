package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holm/approvals"
)

func (s *server) registerCancel() {
	const description = "Takes back a request that nobody has answered. The operator and an owner may cancel any, a requester and an agent's key " +
		"their own; others look unknown. 409 already_decided: who, when and what. 410: expired."
	handle(s, huma.Operation{
		OperationID: "cancel-approval", Method: http.MethodPost, Path: "/api/agents/{agentId}/approvals/{id}/cancel",
		Summary: "Cancel an approval request", Description: description, Tags: []string{"approvals"},
	}, s.cancelApproval)
	handle(s, huma.Operation{
		OperationID: "cancel-approval-by-number", Method: http.MethodPost, Path: "/api/agents/{agentId}/approvals/by-short/{shortId}/cancel",
		Summary: "Cancel an approval request, by the number that people type", Description: description, Tags: []string{"approvals"},
	}, s.cancelApprovalByShort)
}

// Cancellation is why a request is taken back.
type Cancellation struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Reaches the requester."`
}

type cancelInput struct {
	ApprovalPath
	Surface string `header:"User-Agent" hidden:"true"`
	Body    *Cancellation
}

type cancelShortInput struct {
	ShortPath
	Surface string `header:"User-Agent" hidden:"true"`
	Body    *Cancellation
}

func (s *server) cancelApproval(ctx context.Context, in *cancelInput) (*approvalOutput, error) {
	return s.cancel(ctx, &in.ApprovalPath, in.Body, in.Surface)
}

func (s *server) cancelApprovalByShort(ctx context.Context, in *cancelShortInput) (*approvalOutput, error) {
	return s.cancel(ctx, &in.ShortPath, in.Body, in.Surface)
}

func (s *server) cancel(ctx context.Context, path named, body *Cancellation, agent string) (*approvalOutput, error) {
	r, err := s.seen(ctx, path)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	cancellation := approvals.Cancellation{AgentID: r.AgentID, RequestID: r.ID, Actor: approvals.Actor{
		UserID: c.requester, Admin: c.operator, Name: c.name, Via: c.channel,
	}}
	switch {
	case c.operator:
		cancellation.Actor.Name, cancellation.Actor.Via = "the operator", surface(agent)
	case c.channel == "":
		cancellation.Actor.Name, cancellation.Actor.Via = r.RequesterName, "api"
	}
	if body != nil {
		cancellation.Reason = body.Reason
	}
	if r, err = s.Approvals.Cancel(ctx, cancellation); err != nil {
		return nil, err
	}
	return s.shown(ctx, r)
}
