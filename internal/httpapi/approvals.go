package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
)

func (s *server) registerApprovals() {
	handle(s, huma.Operation{
		OperationID: "list-approvals", Method: http.MethodGet, Path: "/api/agents/{agentId}/approvals",
		Summary: "List approval requests, the newest first", Tags: []string{"approvals"},
		Description: "An agent's key and a person who is no owner see their own requests, and those that they may decide, alone. The Link header leads to the next page.",
	}, s.listApprovals)
	handle(s, huma.Operation{
		OperationID: "show-approval", Method: http.MethodGet, Path: "/api/agents/{agentId}/approvals/{id}",
		Summary: "Show an approval request", Tags: []string{"approvals"},
	}, s.showApproval)
	handle(s, huma.Operation{
		OperationID: "show-approval-by-number", Method: http.MethodGet, Path: "/api/agents/{agentId}/approvals/by-short/{shortId}",
		Summary: "Show an approval request by the number that people type", Tags: []string{"approvals"},
	}, s.showApprovalByShort)
}

type listApprovalsInput struct {
	AgentPath
	Status     string `query:"status" enum:"pending,approved,rejected,expired,cancelled"`
	Requester  string `query:"requester"`
	Duplicates bool   `query:"duplicates" doc:"Also requests that share another one's question; else asked of that one counts them."`
	Limit      int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor     string `query:"cursor" doc:"From the Link header of the page before."`
}

type listApprovalsOutput struct {
	Link string `header:"Link" doc:"The next page, rel=\"next\"; absent on the last."`
	Body []approvals.Wire
}

func (s *server) listApprovals(ctx context.Context, in *listApprovalsInput) (*listApprovalsOutput, error) {
	see, err := s.sees(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	filter := approvals.Filter{
		Status: approvals.Status(in.Status), RequesterID: in.Requester, Before: in.Cursor, Limit: in.Limit, Duplicates: in.Duplicates,
	}
	filter.SeenBy = see.requester
	requests, err := approvals.List(ctx, s.Pool, in.AgentID, filter)
	if err != nil {
		return nil, err
	}
	wires, err := approvals.OnWire(ctx, s.Pool, requests...)
	if err != nil {
		return nil, err
	}
	out := &listApprovalsOutput{Body: append([]approvals.Wire{}, wires...)}
	if len(requests) == in.Limit {
		out.Link = in.next(requests[len(requests)-1].ID)
	}
	return out, nil
}

// next is the Link header of the page after the one that ends with last.
func (in *listApprovalsInput) next(last string) string {
	query := url.Values{"cursor": {last}, "limit": {strconv.Itoa(in.Limit)}}
	if in.Status != "" {
		query.Set("status", in.Status)
	}
	if in.Requester != "" {
		query.Set("requester", in.Requester)
	}
	if in.Duplicates {
		query.Set("duplicates", "true")
	}
	return fmt.Sprintf(`</api/agents/%s/approvals?%s>; rel="next"`, url.PathEscape(in.AgentID), query.Encode())
}

// ApprovalPath names a request in a path.
type ApprovalPath struct {
	AgentPath
	ID string `path:"id"`
}

// ShortPath names a request by its number in a path.
type ShortPath struct {
	AgentPath
	ShortID int64 `path:"shortId" minimum:"1" maximum:"2147483647"`
}

type approvalOutput = oneOf[approvals.Wire]

func (s *server) showApproval(ctx context.Context, in *ApprovalPath) (*approvalOutput, error) {
	r, err := s.seen(ctx, in)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, r)
}

func (s *server) showApprovalByShort(ctx context.Context, in *ShortPath) (*approvalOutput, error) {
	r, err := s.seen(ctx, in)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, r)
}

// named is how a path names a request.
type named interface {
	agent() string
	name() string
	read(ctx context.Context, q db.Queryer) (approvals.Request, error)
}

func (p *ApprovalPath) agent() string { return p.AgentID }
func (p *ApprovalPath) name() string  { return p.ID }
func (p *ApprovalPath) read(ctx context.Context, q db.Queryer) (approvals.Request, error) {
	return approvals.Get(ctx, q, p.AgentID, p.ID)
}

func (p *ShortPath) agent() string { return p.AgentID }
func (p *ShortPath) name() string  { return strconv.FormatInt(p.ShortID, 10) }
func (p *ShortPath) read(ctx context.Context, q db.Queryer) (approvals.Request, error) {
	return approvals.GetShort(ctx, q, p.AgentID, int(p.ShortID))
}

// seen reads a request. One that the caller may not see looks unknown.
func (s *server) seen(ctx context.Context, path named) (approvals.Request, error) {
	see, err := s.sees(ctx, path.agent())
	if err != nil {
		return approvals.Request{}, err
	}
	r, err := path.read(ctx, s.Pool)
	if err != nil || see.coversRequest(r) {
		return r, err
	}
	if may, err := approvals.MayDecide(ctx, s.Pool, r, see.requester); err != nil || may {
		return r, err
	}
	return r, fault.NotFoundf("no approval request %q", path.name())
}

// shown gives a request its form on the wire.
func (s *server) shown(ctx context.Context, r approvals.Request) (*approvalOutput, error) {
	wires, err := approvals.OnWire(ctx, s.Pool, r)
	if err != nil {
		return nil, err
	}
	return &approvalOutput{Body: wires[0]}, nil
}
