package client

import (
	"context"
	"net/http"
	"strconv"

	"holm/internal/identity"
)

// User shows a person, by id or identity.
func (c *Client) User(ctx context.Context, user string) (p identity.Profile, err error) {
	_, err = c.call(ctx, http.MethodGet, path("users", user), nil, &p)
	return p, err
}

// MergeUser makes a user the same person as another, who lives on.
func (c *Client) MergeUser(ctx context.Context, user, into string) (m identity.Merge, err error) {
	_, err = c.call(ctx, http.MethodPost, path("users", user, "merge"), map[string]string{"into": into}, &m)
	return m, err
}

// UndoMerge parts users who were merged.
func (c *Client) UndoMerge(ctx context.Context, number int64) error {
	_, err := c.call(ctx, http.MethodDelete, path("merges", strconv.FormatInt(number, 10)), nil, nil)
	return err
}

// AddIdentity lets whoever has an identity be the user.
func (c *Client) AddIdentity(ctx context.Context, user, name string) error {
	_, err := c.call(ctx, http.MethodPut, path("users", user, "identities", name), nil, nil)
	return err
}

// RemoveIdentity takes an identity from a user.
func (c *Client) RemoveIdentity(ctx context.Context, user, name string, force bool) error {
	at := path("users", user, "identities", name) + "?force=" + strconv.FormatBool(force)
	_, err := c.call(ctx, http.MethodDelete, at, nil, nil)
	return err
}
