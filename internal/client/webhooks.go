package client

import (
	"context"
	"net/http"

	"holm/internal/httpapi"
	"holm/internal/webhook"
)

// Webhooks lists the addresses that are told of an agent's events.
func (c *Client) Webhooks(ctx context.Context, agent string) (list []webhook.Webhook, err error) {
	_, err = c.call(ctx, http.MethodGet, path("agents", agent, "webhooks"), nil, &list)
	return list, err
}

// AddWebhook has an address told of events; none are those of the approval life cycle.
func (c *Client) AddWebhook(ctx context.Context, agent, address string, events []string) (made httpapi.WebhookWithSecret, err error) {
	_, err = c.call(ctx, http.MethodPost, path("agents", agent, "webhooks"), map[string]any{"url": address, "events": events}, &made)
	return made, err
}

// TestWebhook sends a test event now.
func (c *Client) TestWebhook(ctx context.Context, agent, id string) error {
	_, err := c.call(ctx, http.MethodPost, path("agents", agent, "webhooks", id, "test"), nil, nil)
	return err
}

// RemoveWebhook forgets a webhook.
func (c *Client) RemoveWebhook(ctx context.Context, agent, id string) error {
	_, err := c.call(ctx, http.MethodDelete, path("agents", agent, "webhooks", id), nil, nil)
	return err
}
