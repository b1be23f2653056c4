package client

import (
	"context"
	"net/http"
	"strconv"

	"holm/approvals"
	"holm/internal/httpapi"
	"holm/internal/identity"
)

// Circles lists the circles of an agent.
func (c *Client) Circles(ctx context.Context, agent string) (list []identity.Circle, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "circles"), nil, &list)
	return list, err
}

// JoinCircle puts a member of the agent into a circle; rows that speak for one
// that was empty are given.
func (c *Client) JoinCircle(ctx context.Context, agent, circle, user string) (joined httpapi.CircleJoined, err error) {
	_, err = c.call(ctx, http.MethodPut, path("agents", agent, "circles", circle, "members", user), nil, &joined)
	return joined, err
}

// LeaveCircle takes a member out of a circle, and tells what ended by it.
func (c *Client) LeaveCircle(ctx context.Context, agent, circle, user string) (e approvals.Endings, err error) {
	_, err = c.call(ctx, http.MethodDelete, path("agents", agent, "circles", circle, "members", user), nil, &e)
	return e, err
}

// DeleteCircle empties a circle, and tells what ended by it.
func (c *Client) DeleteCircle(ctx context.Context, agent, circle string) (e approvals.Endings, err error) {
	_, err = c.call(ctx, http.MethodDelete, path("agents", agent, "circles", circle), nil, &e)
	return e, err
}

// SetRole changes the role of a member, and tells what ended by it.
func (c *Client) SetRole(ctx context.Context, agent, user, role string, force bool) (e approvals.Endings, err error) {
	body := map[string]any{"role": role, "force": force}
	_, err = c.call(ctx, http.MethodPatch, path("agents", agent, "members", user), body, &e)
	return e, err
}

// RemoveMember takes a person from an agent, and tells what ended by it.
func (c *Client) RemoveMember(ctx context.Context, agent, user string, force bool) (e approvals.Endings, err error) {
	at := path("agents", agent, "members", user) + "?force=" + strconv.FormatBool(force)
	_, err = c.call(ctx, http.MethodDelete, at, nil, &e)
	return e, err
}
