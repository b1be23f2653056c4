package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/fault"
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
	Body Question
}

// Question is a call that policy is asked about.
type Question struct {
	Principal *QuestionPrincipal `json:"principal,omitempty" doc:"Absent: the bare agent, or who asks. A userId alone takes role and circles as they are."`
	Resource  struct {
		Type  string          `json:"type" enum:"tool,file,exec,mcp"`
		Key   string          `json:"key" example:"mcp__git__log" doc:"A tool, path or command; of mcp a server, whose tool is named beside."`
		Scope json.RawMessage `json:"scope,omitempty" doc:"Sandbox, mode (read, write, or search for all below a folder) and path of a file; sandbox, command and cwd of a command."`
		Also  []string        `json:"also,omitempty" maxItems:"8" doc:"Further paths of the same file, such as where a link leads: each has to be let through."`
	} `json:"resource"`
	Tool string          `json:"tool,omitempty" doc:"The tool that reaches the file or command, default the built-in one; the tool of an mcp server."`
	Args json.RawMessage `json:"args,omitempty" doc:"Those of the tool. A file's path and mode, and a command with its cwd, are added where they are absent."`
}

// QuestionPrincipal is who would make the call.
type QuestionPrincipal struct {
	UserID  string   `json:"userId,omitempty"`
	Role    string   `json:"role,omitempty" enum:"owner,user,guest"`
	Circles []string `json:"circles,omitempty"`
}

func (s *server) checkAccess(ctx context.Context, in *checkAccessInput) (*oneOf[policy.Explanation], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	rules, err := s.Rules.Get(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	principal, err := s.checkPrincipal(ctx, in)
	if err != nil {
		return nil, err
	}
	req, err := s.request(ctx, principal, &in.Body)
	if err != nil {
		return nil, rulestore.Invalid(err)
	}
	if req.Server != "" && s.Definition != nil {
		req.Definition = s.Definition(req.Server, req.Tool)
	}
	return &oneOf[policy.Explanation]{Body: rules.Explain(req)}, nil
}

// request puts the call together that is asked about.
func (s *server) request(ctx context.Context, principal policy.Principal, q *Question) (req policy.Request, err error) {
	req.Principal = principal
	if err := s.Intake.CheckArgs(q.Args); err != nil {
		return req, err
	}
	if req.Args, err = policy.ParseArgs(q.Args); err != nil {
		return req, err
	}
	switch q.Resource.Type {
	case policy.TypeTool:
		req.Tool = q.Resource.Key
	case policy.TypeMCP:
		if q.Tool == "" || q.Resource.Key == "" {
			return req, fault.Invalidf("tool: of an mcp server, name the tool too")
		}
		// The server need not be one of Holm's: whoever runs the call knows it.
		req.Tool, req.Server = servers.ResourceKey(q.Resource.Key, q.Tool), q.Resource.Key
	default:
		return s.resourceRequest(ctx, req, q)
	}
	if err := s.reach(ctx, &req); err != nil || req.Server != "" {
		return req, err
	}
	req.Resources = servers.BuiltinResources(req.Tool, req.Args)
	return req, nil
}

// resourceRequest is request for a file or a command.
func (s *server) resourceRequest(ctx context.Context, req policy.Request, q *Question) (policy.Request, error) {
	scope, err := policy.ParseScope(q.Resource.Type, q.Resource.Scope)
	if err != nil {
		return req, err
	}
	given := policy.ResourceOf(q.Resource.Type, q.Resource.Key, scope)
	resource, err := given.Clean()
	if err != nil {
		return req, err
	}
	req.Resources = []policy.Resource{resource}
	for _, path := range q.Resource.Also {
		if resource.Type != policy.TypeFile {
			return req, fault.Invalidf("also: belongs to a file")
		}
		other := resource
		other.Path = path
		if other, err = other.Clean(); err != nil {
			return req, err
		}
		req.Resources = append(req.Resources, other)
	}
	if req.Tool = q.Tool; req.Tool == "" {
		req.Tool = resource.Tool()
	}
	if err := s.reach(ctx, &req); err != nil || req.Server != "" {
		return req, err
	}
	if req.Args, err = withResource(req.Args, given, resource, q.Resource.Also); err != nil {
		return req, err
	}
	for _, r := range servers.BuiltinResources(req.Tool, req.Args) {
		if r != resource {
			req.Resources = append(req.Resources, r)
		}
	}
	return req, nil
}

// withResource puts what is reached into the arguments, so that rules about
// arguments, people and digests see it. A command stays as it was given: what is
// one text to rules may be another to a shell.
func withResource(args policy.Args, given, clean policy.Resource, also []string) (policy.Args, error) {
	var members map[string]json.RawMessage
	if raw := args.Raw(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &members); err != nil {
			return args, fault.Invalidf("args: want an object")
		}
	}
	if members == nil { // no arguments, or null, which says the same
		members = map[string]json.RawMessage{}
	}
	own := map[string]string{"command": given.Command, "cwd": clean.CWD, "path": clean.Path, "mode": clean.Mode}
	if clean.Sandbox != policy.DefaultSandbox {
		own["sandbox"] = clean.Sandbox
	}
	for name, value := range own {
		if value == "" {
			continue
		}
		var said string
		if raw, ok := members[name]; ok && (json.Unmarshal(raw, &said) != nil || said != value) {
			return args, fault.Invalidf("args: %s is another than that of the resource", name)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return args, err
		}
		members[name] = text
	}
	if len(also) > 0 {
		text, err := json.Marshal(also)
		if err != nil {
			return args, err
		}
		members["also"] = text
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return args, err
	}
	return policy.ParseArgs(raw)
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
	var findings []policy.Finding
	err := db.InTx(ctx, s.Pool, func(tx pgx.Tx) (err error) {
		findings, err = rulestore.Lint(ctx, tx, in.AgentID, s.tools(ctx))
		return err
	})
	return list(findings), err
}

// tools are all tools that are known.
func (s *server) tools(ctx context.Context) []policy.ToolInfo {
	if s.Tools == nil {
		return nil
	}
	return s.Tools(ctx)
}
