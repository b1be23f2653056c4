package client

import (
	"context"
	"net/http"

	"holm/internal/httpapi"
	"holm/internal/servers"
)

// Server is a server to be registered: by Command, or at URL.
type Server struct {
	Name    string            `json:"name"`
	Command []string          `json:"command,omitempty"`
	URL     string            `json:"url,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Maps    []servers.Map     `json:"maps,omitempty"`
}

// ServerChange is what becomes of a registered server; what is nil or empty
// stays.
type ServerChange struct {
	Command []string           `json:"command,omitempty"`
	URL     string             `json:"url,omitempty"`
	Env     *map[string]string `json:"env,omitempty"`
	Headers *map[string]string `json:"headers,omitempty"`
	Maps    *[]servers.Map     `json:"maps,omitempty"`
}

// Servers lists servers by name.
func (c *Client) Servers(ctx context.Context) (list []httpapi.Server, err error) {
	_, err = c.call(ctx, http.MethodGet, path("servers"), nil, &list)
	return list, err
}

// Server shows one server.
func (c *Client) Server(ctx context.Context, name string) (s httpapi.Server, err error) {
	_, err = c.call(ctx, http.MethodGet, path("servers", name), nil, &s)
	return s, err
}

// AddServer registers a server.
func (c *Client) AddServer(ctx context.Context, in Server) (s httpapi.Server, err error) {
	_, err = c.call(ctx, http.MethodPost, path("servers"), in, &s)
	return s, err
}

// ModifyServer changes a server.
func (c *Client) ModifyServer(ctx context.Context, name string, in ServerChange) (s httpapi.Server, err error) {
	_, err = c.call(ctx, http.MethodPatch, path("servers", name), in, &s)
	return s, err
}

// RemoveServer forgets a server.
func (c *Client) RemoveServer(ctx context.Context, name string) error {
	_, err := c.call(ctx, http.MethodDelete, path("servers", name), nil, nil)
	return err
}

// Channels lists channels, Holm's own first.
func (c *Client) Channels(ctx context.Context) (list []httpapi.Channel, err error) {
	_, err = c.call(ctx, http.MethodGet, path("channels"), nil, &list)
	return list, err
}

// AddChannel registers a channel that runs outside, takes cards at url, and
// gives the only copy of its token.
func (c *Client) AddChannel(ctx context.Context, namespace, agent, url string) (ch httpapi.ChannelWithToken, err error) {
	_, err = c.call(ctx, http.MethodPost, path("channels"), map[string]string{"namespace": namespace, "agentId": agent, "url": url}, &ch)
	return ch, err
}

// RemoveChannel forgets a channel that runs outside.
func (c *Client) RemoveChannel(ctx context.Context, namespace string) error {
	_, err := c.call(ctx, http.MethodDelete, path("channels", namespace), nil, nil)
	return err
}
