package httpapi

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"holm/internal/audit"
	"holm/internal/fault"
	"holm/internal/identity"
)

func (s *server) registerAudit() {
	handle(s, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/api/audit",
		Summary: "Read the audit log, the oldest first", Tags: []string{"audit"},
		Description: "Records are chained within a second. The Link header leads to the next page.",
	}, s.listAudit)
	handle(s, huma.Operation{
		OperationID: "verify-audit", Method: http.MethodGet, Path: "/api/audit/verify",
		Summary: "Check the hash chain of the audit log", Tags: []string{"audit"},
		Description: "Walks the whole chain. Note head elsewhere and expect it later: then a removal at the end shows too.",
	}, s.verifyAudit)
	handle(s, huma.Operation{
		OperationID: "list-calls", Method: http.MethodGet, Path: "/api/log",
		Summary: "Read what became of calls, from the audit log, the newest last", Tags: []string{"audit"},
		Description: "Without after: the newest. To follow, ask again with after set to next.",
	}, s.listCalls)
}

type listAuditInput struct {
	Agent string `query:"agent" doc:"Records of one agent alone."`
	Kind  string `query:"kind" example:"call_decided"`
	After int64  `query:"after" minimum:"0" doc:"The seq of the last record that the reader has."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type listAuditOutput struct {
	Link string `header:"Link" doc:"The next page, rel=\"next\"; absent on the last."`
	Body []audit.Wire
}

func (s *server) listAudit(ctx context.Context, in *listAuditInput) (*listAuditOutput, error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	entries, err := audit.List(ctx, s.Pool, audit.Filter{AgentID: in.Agent, Kind: in.Kind, After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		if err := s.recorded(ctx, in.Agent); err != nil {
			return nil, err
		}
	}
	out := &listAuditOutput{Body: make([]audit.Wire, len(entries))}
	for i, e := range entries {
		out.Body[i] = e.OnWire()
	}
	if len(entries) == in.Limit {
		query := url.Values{"after": {strconv.FormatInt(entries[len(entries)-1].Seq, 10)}, "limit": {strconv.Itoa(in.Limit)}}
		if in.Agent != "" {
			query.Set("agent", in.Agent)
		}
		if in.Kind != "" {
			query.Set("kind", in.Kind)
		}
		out.Link = fmt.Sprintf(`</api/audit?%s>; rel="next"`, query.Encode())
	}
	return out, nil
}

// recorded refuses the name of an agent that neither is there nor was: an empty
// answer would look as if nothing had happened. Empty is no name.
func (s *server) recorded(ctx context.Context, agentID string) error {
	if agentID == "" {
		return nil
	}
	had, err := audit.Has(ctx, s.Pool, agentID)
	if err != nil || had {
		return err
	}
	_, err = identity.GetAgent(ctx, s.Pool, agentID)
	return err
}

type verifyAuditInput struct {
	Expect string `query:"expect" doc:"SEQ:HASH of a record as it was noted before."`
}

// AuditReport is the outcome of a check of the audit log.
type AuditReport struct {
	Intact  bool         `json:"intact"`
	Records int64        `json:"records" doc:"How many records hold, from the first on."`
	Head    string       `json:"head,omitempty" doc:"SEQ:HASH of the last of them."`
	Broken  *AuditBroken `json:"broken,omitempty"`
	Queued  int64        `json:"queued" doc:"Records that wait to be chained."`
}

// AuditBroken is where a chain does not hold.
type AuditBroken struct {
	Seq    int64  `json:"seq" doc:"The first record that does not fit, or that is missing."`
	Reason string `json:"reason"`
}

func (s *server) verifyAudit(ctx context.Context, in *verifyAuditInput) (*oneOf[AuditReport], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	var expect audit.Anchor
	if in.Expect != "" {
		var err error
		if expect, err = audit.ParseAnchor(in.Expect); err != nil {
			return nil, fault.Invalidf("%v", err)
		}
	}
	r, err := audit.Verify(ctx, s.Pool, expect)
	if err != nil {
		return nil, err
	}
	report := AuditReport{Intact: r.Broken == nil, Records: r.Head.Seq, Queued: r.Queued}
	if r.Head.Seq > 0 {
		report.Head = fmt.Sprintf("%d:%s", r.Head.Seq, hex.EncodeToString(r.Head.Hash))
	}
	if r.Broken != nil {
		report.Broken = &AuditBroken{Seq: r.Broken.Seq, Reason: r.Broken.Reason}
	}
	return &oneOf[AuditReport]{Body: report}, nil
}

type listCallsInput struct {
	Agent  string `query:"agent"`
	Server string `query:"server" doc:"Calls of one server's tools alone."`
	Status string `query:"status" enum:"allowed,denied,error,approval,unfinished"`
	After  int64  `query:"after" minimum:"-1" default:"-1" doc:"next of the answer before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}

// CallLog is a part of the log of calls.
type CallLog struct {
	Calls []audit.Call `json:"calls"`
	Next  int64        `json:"next" doc:"Where the next part begins."`
}

func (s *server) listCalls(ctx context.Context, in *listCallsInput) (*oneOf[CallLog], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	filter := audit.CallFilter{AgentID: in.Agent, Server: in.Server, Status: audit.Status(in.Status), Limit: in.Limit}
	var calls []audit.Call
	var next int64
	var err error
	if in.After < 0 {
		calls, next, err = audit.LastCalls(ctx, s.Pool, filter)
	} else {
		calls, next, err = audit.CallsAfter(ctx, s.Pool, in.After, filter)
	}
	if err != nil {
		return nil, err
	}
	if len(calls) == 0 && in.After < 0 {
		if err := s.recorded(ctx, in.Agent); err != nil {
			return nil, err
		}
		if in.Server != "" {
			if _, err := s.Servers.Get(ctx, in.Server); err != nil {
				return nil, err
			}
		}
	}
	return &oneOf[CallLog]{Body: CallLog{Calls: append([]audit.Call{}, calls...), Next: next}}, nil
}
