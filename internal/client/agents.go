package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holm/internal/httpapi"
	"holm/internal/identity"
	"holm/policy/rulestore"
)

// Agents lists agents by name.
func (c *Client) Agents(ctx context.Context) (list []identity.Agent, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents"), nil, &list)
	return list, err
}

// Agent shows one agent.
func (c *Client) Agent(ctx context.Context, name string) (a identity.Agent, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", name), nil, &a)
	return a, err
}

// AddAgent registers an agent and gives the only copy of its key.
func (c *Client) AddAgent(ctx context.Context, name string) (a httpapi.AgentWithKey, err error) {
	_, err = c.call(ctx, http.MethodPost, path("agents"), map[string]string{"name": name}, &a)
	return a, err
}

// AgentChange is what becomes of an agent; what is nil stays.
type AgentChange struct {
	DefaultDecision    *string   `json:"defaultDecision,omitempty"`
	AutonomyLevel      *string   `json:"autonomyLevel,omitempty"`
	RequireApprovalFor *[]string `json:"requireApprovalFor,omitempty"`
	Access             string    `json:"access,omitempty"`
	RotateAccessToken  bool      `json:"rotateAccessToken,omitempty"`
}

// ModifyAgent changes an agent.
func (c *Client) ModifyAgent(ctx context.Context, name string, change AgentChange) (a httpapi.ModifiedAgent, err error) {
	_, err = c.call(ctx, http.MethodPatch, path("agents", name), change, &a)
	return a, err
}

// RemoveAgent removes an agent with all that is its own.
func (c *Client) RemoveAgent(ctx context.Context, name string) error {
	_, err := c.call(ctx, http.MethodDelete, path("agents", name), nil, nil)
	return err
}

// RotateKeys revokes the keys of an agent and gives the only copy of a new one.
func (c *Client) RotateKeys(ctx context.Context, agent string) (k httpapi.NewKey, err error) {
	_, err = c.call(ctx, http.MethodPost, path("agents", agent, "rotate"), nil, &k)
	return k, err
}

// Keys lists the keys of an agent, the newest first.
func (c *Client) Keys(ctx context.Context, agent string) (list []identity.Key, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "keys"), nil, &list)
	return list, err
}

// AddKey makes a further key: user may be empty, expires nil.
func (c *Client) AddKey(ctx context.Context, agent, user string, expires *time.Time) (k httpapi.NewKey, err error) {
	in := struct {
		UserID  string     `json:"userId,omitempty"`
		Expires *time.Time `json:"expires,omitempty"`
	}{user, expires}
	_, err = c.call(ctx, http.MethodPost, path("agents", agent, "keys"), in, &k)
	return k, err
}

// ImportKey takes over a key by its beginning and its hash.
func (c *Client) ImportKey(ctx context.Context, agent, prefix, hash string) error {
	_, err := c.call(ctx, http.MethodPost, path("agents", agent, "keys", "import"), map[string]string{"prefix": prefix, "hash": hash}, nil)
	return err
}

// RevokeKey ends one key.
func (c *Client) RevokeKey(ctx context.Context, prefix string) error {
	_, err := c.call(ctx, http.MethodDelete, path("keys", prefix), nil, nil)
	return err
}

// Members lists the people of an agent.
func (c *Client) Members(ctx context.Context, agent string) (list []identity.Member, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "members"), nil, &list)
	return list, err
}

// Invite makes an invitation.
func (c *Client) Invite(ctx context.Context, agent, role string) (i httpapi.Invite, err error) {
	_, err = c.call(ctx, http.MethodPost, path("agents", agent, "invites"), map[string]string{"role": role}, &i)
	return i, err
}

// Policies lists the rows of an agent.
func (c *Client) Policies(ctx context.Context, agent string) (list []rulestore.Row, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "policies"), nil, &list)
	return list, err
}

// SetPolicy stores a row.
func (c *Client) SetPolicy(ctx context.Context, agent string, p Policy) (row rulestore.Written, err error) {
	_, err = c.call(ctx, http.MethodPost, path("agents", agent, "policies"), p, &row)
	return row, err
}

// DeletePolicies deletes the rows of one key and effect.
func (c *Client) DeletePolicies(ctx context.Context, agent, resourceType, resourceKey, effect string, force bool) error {
	query := url.Values{"force": {strconv.FormatBool(force)}}
	if effect != "" {
		query.Set("effect", effect)
	}
	_, err := c.call(ctx, http.MethodDelete, path("agents", agent, "policies", resourceType, resourceKey)+"?"+query.Encode(), nil, nil)
	return err
}
