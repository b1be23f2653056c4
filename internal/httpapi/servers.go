package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/servers"
	"holm/policy/rulestore"
)

func (s *server) registerServers() {
	handle(s, huma.Operation{
		OperationID: "list-servers", Method: http.MethodGet, Path: "/api/servers",
		Summary: "List upstream MCP servers", Tags: []string{"servers"},
	}, s.listServers)
	handle(s, huma.Operation{
		OperationID: "create-server", Method: http.MethodPost, Path: "/api/servers", DefaultStatus: http.StatusCreated,
		Summary: "Register an upstream MCP server", Description: "By a command (stdio) or at a url (Streamable HTTP).", Tags: []string{"servers"},
	}, s.createServer)
	handle(s, huma.Operation{
		OperationID: "show-server", Method: http.MethodGet, Path: "/api/servers/{name}",
		Summary: "Show an upstream MCP server", Tags: []string{"servers"},
	}, s.showServer)
	handle(s, huma.Operation{
		OperationID: "modify-server", Method: http.MethodPatch, Path: "/api/servers/{name}",
		Summary: "Change an upstream MCP server", Description: "What is given replaces what was; the connection is made anew.", Tags: []string{"servers"},
	}, s.modifyServer)
	handle(s, huma.Operation{
		OperationID: "remove-server", Method: http.MethodDelete, Path: "/api/servers/{name}",
		Summary: "Forget an upstream MCP server", Description: "What was approved about it, and rows that allow it by name, end with every agent. The answer says what ended, and which rows stay.", Tags: []string{"servers"},
	}, s.removeServer)
}

// Server is a registered server with how it does. Values of variables and
// headers are never shown.
type Server struct {
	servers.Wire
	Status *ServerStatus `json:"status,omitempty"`
	// Rules are told of a server that was just added.
	Rules []rulestore.Row `json:"rules,omitempty" doc:"In the answer to its registration: rows that speak of it already, or allow it by a pattern."`
}

func (s *server) view(ctx context.Context, one servers.Server) Server {
	view := Server{Wire: one.Wire()}
	if s.ServerStatus == nil {
		return view
	}
	if status, ok := s.ServerStatus(ctx, one.Name); ok {
		status.Tools = append([]string{}, status.Tools...)
		view.Status = &status
	}
	return view
}

func (s *server) listServers(ctx context.Context, _ *nothing) (*listOf[Server], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	all, err := s.Servers.List(ctx)
	if err != nil {
		return nil, err
	}
	var views []Server
	for _, one := range all {
		views = append(views, s.view(ctx, one))
	}
	return list(views), nil
}

type createServerInput struct {
	Body struct {
		Name    string            `json:"name" doc:"A letter, then letters, digits or -; at most 40." example:"git"`
		Command []string          `json:"command,omitempty" example:"[\"mcp-server-git\",\"--repository\",\"/srv/repo\"]"`
		URL     string            `json:"url,omitempty" example:"https://tools.example/mcp"`
		Env     map[string]string `json:"env,omitempty" doc:"For a command. Kept sealed."`
		Headers map[string]string `json:"headers,omitempty" doc:"For a url. Kept sealed."`
		Maps    []servers.Map     `json:"maps,omitempty" doc:"Arguments that name files and commands."`
	}
}

func (s *server) createServer(ctx context.Context, in *createServerInput) (*oneOf[Server], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	added, err := s.Servers.Add(ctx, servers.Server{
		Name: b.Name, Command: b.Command, URL: b.URL, Env: b.Env, Headers: b.Headers, Maps: b.Maps,
	}, adminActor)
	if err != nil {
		return nil, err
	}
	view := s.view(ctx, added)
	view.Rules, err = rulestore.AboutServer(ctx, s.Pool, added.Name)
	return &oneOf[Server]{Body: view}, err
}

// ServerPath names a server.
type ServerPath struct {
	Name string `path:"name" example:"git"`
}

func (s *server) showServer(ctx context.Context, in *ServerPath) (*oneOf[Server], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	one, err := s.Servers.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &oneOf[Server]{Body: s.view(ctx, one)}, nil
}

type modifyServerInput struct {
	ServerPath
	Body struct {
		Command []string           `json:"command,omitempty"`
		URL     string             `json:"url,omitempty"`
		Env     *map[string]string `json:"env,omitempty" doc:"All variables of the command."`
		Headers *map[string]string `json:"headers,omitempty" doc:"All headers of the url."`
		Maps    *[]servers.Map     `json:"maps,omitempty" doc:"All maps."`
	}
}

func (s *server) modifyServer(ctx context.Context, in *modifyServerInput) (*oneOf[Server], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	modified, err := s.Servers.Modify(ctx, in.Name, adminActor, in.apply)
	if err != nil {
		return nil, err
	}
	return &oneOf[Server]{Body: s.view(ctx, modified)}, nil
}

// apply puts what was given in the place of what was. A command takes the
// place of a url and the other way round, with what belongs to it.
func (in *modifyServerInput) apply(s *servers.Server) {
	if len(in.Body.Command) > 0 {
		s.Command, s.URL, s.Headers = in.Body.Command, "", nil
	}
	if in.Body.URL != "" {
		s.URL, s.Command, s.Env = in.Body.URL, nil, nil
	}
	if in.Body.Env != nil {
		s.Env = *in.Body.Env
	}
	if in.Body.Headers != nil {
		s.Headers = *in.Body.Headers
	}
	if in.Body.Maps != nil {
		s.Maps = *in.Body.Maps
	}
}

type removeServerInput struct {
	ServerPath
	KeepGrants bool `query:"keepGrants" doc:"Leave the rows that allow it, for another server of that name."`
}

func (s *server) removeServer(ctx context.Context, in *removeServerInput) (*oneOf[approvals.Endings], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	var out oneOf[approvals.Endings]
	err := s.Servers.Remove(ctx, in.Name, adminActor, func(tx pgx.Tx) (err error) {
		out.Body, err = s.Approvals.EndServer(ctx, tx, in.Name, in.KeepGrants, theOperator)
		return err
	})
	if err == nil {
		s.Hub.Publish(audit.QueuedKey)
	}
	return &out, err
}
