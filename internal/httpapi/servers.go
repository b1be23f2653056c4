package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holm/internal/servers"
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
		OperationID: "remove-server", Method: http.MethodDelete, Path: "/api/servers/{name}", DefaultStatus: http.StatusNoContent,
		Summary: "Forget an upstream MCP server", Tags: []string{"servers"},
	}, s.removeServer)
}

// Server is a registered server with how it does. Values of variables and
// headers are never shown.
type Server struct {
	servers.Wire
	Status *ServerStatus `json:"status,omitempty"`
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
	}
}

func (s *server) createServer(ctx context.Context, in *createServerInput) (*oneOf[Server], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	added, err := s.Servers.Add(ctx, servers.Server{
		Name: b.Name, Command: b.Command, URL: b.URL, Env: b.Env, Headers: b.Headers,
	}, adminActor)
	if err != nil {
		return nil, err
	}
	return &oneOf[Server]{Body: s.view(ctx, added)}, nil
}

type serverPath struct {
	Name string `path:"name" example:"git"`
}

func (s *server) showServer(ctx context.Context, in *serverPath) (*oneOf[Server], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	one, err := s.Servers.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &oneOf[Server]{Body: s.view(ctx, one)}, nil
}

func (s *server) removeServer(ctx context.Context, in *serverPath) (*nothing, error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	return nil, s.Servers.Remove(ctx, in.Name, adminActor)
}
