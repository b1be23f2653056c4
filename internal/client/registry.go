package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"holm/approvals"
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

// RemoveServer forgets a server, and tells what ended by it.
func (c *Client) RemoveServer(ctx context.Context, name string, keepGrants bool) (e approvals.Endings, err error) {
	at := path("servers", name) + "?keepGrants=" + strconv.FormatBool(keepGrants)
	_, err = c.call(ctx, http.MethodDelete, at, nil, &e)
	return e, err
}

// Channels lists channels, Holm's own first.
func (c *Client) Channels(ctx context.Context) (list []httpapi.Channel, err error) {
	_, err = c.call(ctx, http.MethodGet, path("channels"), nil, &list)
	return list, err
}

// NewChannel is a channel to be added: at URL one that runs outside, with
// Secrets one of Holm's own.
type NewChannel struct {
	Namespace string            `json:"namespace"`
	AgentID   string            `json:"agentId"`
	URL       string            `json:"url,omitempty"`
	Lists     int               `json:"lists,omitempty"`
	Mode      string            `json:"mode,omitempty"`
	Secrets   map[string]string `json:"secrets,omitempty"`
}

// AddChannel adds a channel; of one that runs outside it gives the only copy of
// the token.
func (c *Client) AddChannel(ctx context.Context, in NewChannel) (ch httpapi.ChannelAdded, err error) {
	_, err = c.call(ctx, http.MethodPost, path("channels"), in, &ch)
	return ch, err
}

// Channel shows one channel with what failed on it.
func (c *Client) Channel(ctx context.Context, namespace string) (ch httpapi.ChannelDetails, err error) {
	_, err = c.call(ctx, http.MethodGet, path("channels", namespace), nil, &ch)
	return ch, err
}

// testPatience is how long platforms may take to answer for all owners.
const testPatience = 5 * time.Minute

// TestChannels sends owners a test card and tells who got it.
func (c *Client) TestChannels(ctx context.Context, t httpapi.ChannelTest) (list []httpapi.ChannelReached, err error) {
	_, err = c.patient(testPatience).call(ctx, http.MethodPost, path("channels", "test"), t, &list)
	return list, err
}

// RotateChannel gives a channel that was added other secrets; of one that runs
// outside, which takes none, it gives the only copy of its new token.
func (c *Client) RotateChannel(ctx context.Context, namespace string, in httpapi.ChannelSecrets) (ch httpapi.ChannelAdded, err error) {
	_, err = c.call(ctx, http.MethodPost, path("channels", namespace, "rotate"), in, &ch)
	return ch, err
}

// RemoveChannel closes a channel that was added.
func (c *Client) RemoveChannel(ctx context.Context, namespace string) error {
	_, err := c.call(ctx, http.MethodDelete, path("channels", namespace), nil, nil)
	return err
}
