package client

import (
	"context"
	"net/http"
	"strconv"

	"holm/internal/identity"
)

// Circles lists the circles of an agent.
func (c *Client) Circles(ctx context.Context, agent string) (list []identity.Circle, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "circles"), nil, &list)
	return list, err
}

// JoinCircle puts a member of the agent into a circle.
func (c *Client) JoinCircle(ctx context.Context, agent, circle, user string) error {
	_, err := c.call(ctx, http.MethodPut, path("agents", agent, "circles", circle, "members", user), nil, nil)
	return err
}

// LeaveCircle takes a member out of a circle.
func (c *Client) LeaveCircle(ctx context.Context, agent, circle, user string) error {
	_, err := c.call(ctx, http.MethodDelete, path("agents", agent, "circles", circle, "members", user), nil, nil)
	return err
}

// DeleteCircle empties a circle.
func (c *Client) DeleteCircle(ctx context.Context, agent, circle string) error {
	_, err := c.call(ctx, http.MethodDelete, path("agents", agent, "circles", circle), nil, nil)
	return err
}

// SetRole changes the role of a member.
func (c *Client) SetRole(ctx context.Context, agent, user, role string, force bool) error {
	body := map[string]any{"role": role, "force": force}
	_, err := c.call(ctx, http.MethodPatch, path("agents", agent, "members", user), body, nil)
	return err
}

// RemoveMember takes a person from an agent.
func (c *Client) RemoveMember(ctx context.Context, agent, user string, force bool) error {
	at := path("agents", agent, "members", user) + "?force=" + strconv.FormatBool(force)
	_, err := c.call(ctx, http.MethodDelete, at, nil, nil)
	return err
}
