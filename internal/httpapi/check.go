package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holm/internal/identity"
	"holm/internal/servers"
	"holm/policy"
	"holm/policy/rulestore"
)

func (s *server) registerChecks() {
	handle(s, huma.Operation{
		OperationID: "check-access", Method: http.MethodPost, Path: "/api/agents/{agentId}/access/check",
		Summary: "Explain a decision", Description: "Nothing is executed, asked or recorded.", Tags: []string{"policies"},
	}, s.checkAccess)
	handle(s, huma.Operation{
		OperationID: "lint-policies", Method: http.MethodGet, Path: "/api/agents/{agentId}/policies/lint",
		Summary: "Find rows that do not do what they seem to", Tags: []string{"policies"},
	}, s.lintPolicies)
}

type checkAccessInput struct {
	AgentPath
	Body struct {
		Principal *struct {
			UserID  string   `json:"userId,omitempty"`
			Role    string   `json:"role,omitempty" enum:"owner,user,guest"`
			Circles []string `json:"circles,omitempty"`
		} `json:"principal,omitempty" doc:"Absent: the bare agent. A userId alone takes role and circles as they are."`
		Resource struct {
			Type  string          `json:"type" enum:"tool,file,exec"`
			Key   string          `json:"key" example:"mcp__git__log"`
			Scope json.RawMessage `json:"scope,omitempty" doc:"Sandbox, mode and path of a file; sandbox, command and cwd of a command."`
		} `json:"resource"`
		Tool string          `json:"tool,omitempty" doc:"The tool that reaches the file or command; default the built-in one."`
		Args json.RawMessage `json:"args,omitempty"`
	}
}

func (s *server) checkAccess(ctx context.Context, in *checkAccessInput) (*oneOf[policy.Explanation], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	rules, err := s.Rules.Get(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	req, err := s.checkRequest(ctx, in)
	if err != nil {
		return nil, rulestore.Invalid(err)
	}
	return &oneOf[policy.Explanation]{Body: rules.Explain(req)}, nil
}

// checkRequest puts the call together that is asked about.
func (s *server) checkRequest(ctx context.Context, in *checkAccessInput) (req policy.Request, err error) {
	if req.Principal, err = s.checkPrincipal(ctx, in); err != nil {
		return req, err
	}
	if req.Args, err = policy.ParseArgs(in.Body.Args); err != nil {
		return req, err
	}
	req.Tool = in.Body.Resource.Key
	if in.Body.Resource.Type != policy.TypeTool {
		scope, err := policy.ParseScope(in.Body.Resource.Type, in.Body.Resource.Scope)
		if err != nil {
			return req, err
		}
		resource, err := policy.ResourceOf(in.Body.Resource.Type, in.Body.Resource.Key, scope).Clean()
		if err != nil {
			return req, err
		}
		req.Resources = []policy.Resource{resource}
		if req.Tool = in.Body.Tool; req.Tool == "" {
			req.Tool = resource.Tool()
		}
	}
	return req, s.reach(ctx, &req)
}

// reach finds the server of the tool, and the files and commands its maps see
// in the arguments.
func (s *server) reach(ctx context.Context, req *policy.Request) error {
	all, err := s.Servers.List(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if tool, ok := one.ToolOf(req.Tool); ok {
			req.Server = one.Name
			req.Resources = append(req.Resources, servers.Resources(one.Name, one.MapsOf(tool), req.Args)...)
		}
	}
	return nil
}

func (s *server) checkPrincipal(ctx context.Context, in *checkAccessInput) (policy.Principal, error) {
	given := in.Body.Principal
	if given == nil {
		return policy.Principal{AgentID: in.AgentID}, nil
	}
	if given.UserID != "" && given.Role == "" && given.Circles == nil {
		if _, err := identity.GetUser(ctx, s.Pool, given.UserID); err != nil {
			return policy.Principal{}, err
		}
		return identity.PrincipalOf(ctx, s.Pool, identity.Caller{AgentID: in.AgentID, UserID: given.UserID})
	}
	return policy.Principal{AgentID: in.AgentID, UserID: given.UserID, Role: policy.Role(given.Role), Circles: given.Circles}, nil
}

func (s *server) lintPolicies(ctx context.Context, in *AgentPath) (*listOf[policy.Finding], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	stored, err := rulestore.List(ctx, s.Pool, in.AgentID, "")
	if err != nil {
		return nil, err
	}
	rows := make([]policy.Row, len(stored))
	for i, row := range stored {
		rows[i] = row.Compiled()
	}
	return list(policy.Lint(rows, s.tools(ctx))), nil
}

// tools are all tools that are known.
func (s *server) tools(ctx context.Context) []policy.ToolInfo {
	if s.Tools == nil {
		return nil
	}
	return s.Tools(ctx)
}
