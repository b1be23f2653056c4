package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"holm/policy"
)

// Policy is a row to be stored.
type Policy struct {
	ResourceType string         `json:"resourceType"`
	ResourceKey  string         `json:"resourceKey"`
	Effect       policy.Effect  `json:"effect"`
	Grants       []policy.Grant `json:"grants"`
	Scope        policy.Scope   `json:"scope"`
	Note         string         `json:"note,omitempty"`
	AddGrants    bool           `json:"addGrants,omitempty"`
	KeepDefaults bool           `json:"keepDefaults,omitempty"`
	Force        bool           `json:"force,omitempty"`
}

// Check is a question to policy.
type Check struct {
	Principal *Principal      `json:"principal,omitempty"`
	Resource  Resource        `json:"resource"`
	Tool      string          `json:"tool,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
}

// Principal is who would call; nil is the agent's bare key.
type Principal struct {
	UserID string      `json:"userId,omitempty"`
	Role   policy.Role `json:"role,omitempty"`
}

// Resource is what the question is about.
type Resource struct {
	Type  string          `json:"type"`
	Key   string          `json:"key"`
	Scope json.RawMessage `json:"scope,omitempty"`
	// Also are further paths of the same file.
	Also []string `json:"also,omitempty"`
}

// Speak sets the principal from the form of the command line: user:U or role:R;
// empty leaves the bare key.
func (c *Check) Speak(as string) error {
	kind, value, _ := strings.Cut(as, ":")
	switch {
	case as == "":
	case kind == "user" && value != "":
		c.Principal = &Principal{UserID: value}
	case kind == "role" && value != "":
		c.Principal = &Principal{Role: policy.Role(value)}
	default:
		return errors.New("want user:U or role:R")
	}
	return nil
}

// Explain tells what policy decides, and why.
func (c *Client) Explain(ctx context.Context, agent string, check Check) (e policy.Explanation, err error) {
	_, err = c.call(ctx, http.MethodPost, path("agents", agent, "access", "check"), check, &e)
	return e, err
}

// Lint finds rows that do not do what they seem to.
func (c *Client) Lint(ctx context.Context, agent string) (list []policy.Finding, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "policies", "lint"), nil, &list)
	return list, err
}
