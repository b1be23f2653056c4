package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Agent is an MCP client with an access key, like any other.
type Agent struct {
	session *mcp.ClientSession
}

// Connect opens a session at url. The agent waits for approvals as long as
// hold, a duration in Go's form.
func Connect(ctx context.Context, url, key, hold string) (*Agent, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "holm-demo-agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             url,
		HTTPClient:           &http.Client{Transport: withHeaders{"Authorization": "Bearer " + key, "Holm-Hold": hold}},
		DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return nil, fmt.Errorf("connect the demo agent: %w", err)
	}
	return &Agent{session: session}, nil
}

// Tools names what the agent may call.
func (a *Agent) Tools(ctx context.Context) ([]string, error) {
	list, err := a.session.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

// Call runs a tool and gives the text of its result; failed is what the result
// says of itself.
func (a *Agent) Call(ctx context.Context, tool string, args map[string]any) (result string, failed bool, err error) {
	r, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: "mcp__" + Server + "__" + tool, Arguments: args})
	if err != nil {
		return "", false, fmt.Errorf("call %s: %w", tool, err)
	}
	var parts []string
	for _, content := range r.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n"), r.IsError, nil
}

// Close ends the session.
func (a *Agent) Close() { _ = a.session.Close() }

// withHeaders adds headers to each request.
type withHeaders map[string]string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
