package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/webhook"
)

func (s *server) registerWebhooks() {
	handle(s, huma.Operation{
		OperationID: "list-webhooks", Method: http.MethodGet, Path: "/api/agents/{agentId}/webhooks",
		Summary: "List the addresses that are told of an agent's events", Tags: []string{"events"},
	}, s.listWebhooks)
	handle(s, huma.Operation{
		OperationID: "create-webhook", Method: http.MethodPost, Path: "/api/agents/{agentId}/webhooks",
		DefaultStatus: http.StatusCreated, Summary: "Have an address told of an agent's events from now on",
		Description: "The answer holds the only copy of the secret that deliveries are signed with.", Tags: []string{"events"},
	}, s.createWebhook)
	handle(s, huma.Operation{
		OperationID: "test-webhook", Method: http.MethodPost, Path: "/api/agents/{agentId}/webhooks/{webhookId}/test",
		DefaultStatus: http.StatusNoContent, Summary: "Send a test event now",
		Description: "Fails with webhook_failed and what the address did, unless it answered with a status of 2xx.", Tags: []string{"events"},
	}, s.testWebhook)
	handle(s, huma.Operation{
		OperationID: "remove-webhook", Method: http.MethodDelete, Path: "/api/agents/{agentId}/webhooks/{webhookId}",
		DefaultStatus: http.StatusNoContent, Summary: "Forget a webhook", Tags: []string{"events"},
	}, s.removeWebhook)
}

func (s *server) listWebhooks(ctx context.Context, in *AgentPath) (*listOf[webhook.Webhook], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	hooks, err := webhook.List(ctx, s.Pool, in.AgentID)
	return list(hooks), err
}

type createWebhookInput struct {
	AgentPath
	Body struct {
		URL    string   `json:"url" doc:"Takes the events, by POST." example:"https://example.com/holm"`
		Events []string `json:"events,omitempty" doc:"Types of events; default those of the approval life cycle."`
	}
}

// WebhookWithSecret is a new webhook with the only copy of its secret.
type WebhookWithSecret struct {
	webhook.Webhook
	// Secret signs deliveries as Standard Webhooks says.
	Secret string `json:"secret" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`
}

func (s *server) createWebhook(ctx context.Context, in *createWebhookInput) (*oneOf[WebhookWithSecret], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	var out oneOf[WebhookWithSecret]
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body.Webhook, out.Body.Secret, err = webhook.Create(ctx, tx, s.Secret, in.AgentID, in.Body.URL, in.Body.Events, adminActor)
		return err
	}, webhook.ChangedKey)
	return &out, err
}

// WebhookPath names a webhook of an agent.
type WebhookPath struct {
	AgentPath
	WebhookID string `path:"webhookId"`
}

func (s *server) testWebhook(ctx context.Context, in *WebhookPath) (*nothing, error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	return nil, webhook.NewSender(s.Pool, s.Secret).Test(ctx, in.AgentID, in.WebhookID)
}

func (s *server) removeWebhook(ctx context.Context, in *WebhookPath) (*nothing, error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	return nil, s.inTx(ctx, func(tx pgx.Tx) error {
		return webhook.Remove(ctx, tx, in.AgentID, in.WebhookID, adminActor)
	})
}
