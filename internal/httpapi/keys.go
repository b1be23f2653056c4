package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/fault"
	"holm/internal/identity"
)

func (s *server) registerKeys() {
	handle(s, huma.Operation{
		OperationID: "rotate-keys", Method: http.MethodPost, Path: "/api/agents/{agentId}/rotate",
		Summary: "Revoke all keys of an agent and make a new one", Tags: []string{"keys"},
	}, s.rotateKeys)
	handle(s, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/api/agents/{agentId}/keys",
		Summary: "List the keys of an agent, the newest first", Tags: []string{"keys"},
	}, s.listKeys)
	handle(s, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/api/agents/{agentId}/keys", DefaultStatus: http.StatusCreated,
		Summary: "Make a further key", Description: "The answer holds the only copy.", Tags: []string{"keys"},
	}, s.createKey)
	handle(s, huma.Operation{
		OperationID: "import-key", Method: http.MethodPost, Path: "/api/agents/{agentId}/keys/import", DefaultStatus: http.StatusNoContent,
		Summary: "Take over a key of Steerholm", Description: "By its beginning and its bcrypt hash; the key itself stays unknown.", Tags: []string{"keys"},
	}, s.importKey)
	handle(s, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: "/api/keys/{prefix}", DefaultStatus: http.StatusNoContent,
		Summary: "Revoke one key", Tags: []string{"keys"},
	}, s.revokeKey)
}

// NewKey is the only copy of a key.
type NewKey struct {
	Key string `json:"key"`
}

func (s *server) rotateKeys(ctx context.Context, in *AgentPath) (*oneOf[NewKey], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	var out oneOf[NewKey]
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body.Key, err = identity.RotateKeys(ctx, tx, in.AgentID, adminActor)
		return err
	}, identity.KeysChanged)
	return &out, err
}

func (s *server) listKeys(ctx context.Context, in *AgentPath) (*listOf[identity.Key], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	keys, err := identity.ListKeys(ctx, s.Pool, in.AgentID)
	return list(keys), err
}

type createKeyInput struct {
	AgentPath
	Body struct {
		UserID  string     `json:"userId,omitempty" doc:"The user on whose behalf calls with this key are made. Empty: the agent's own."`
		Expires *time.Time `json:"expires,omitempty" doc:"When the key stops working. Absent: never."`
	}
}

func (s *server) createKey(ctx context.Context, in *createKeyInput) (*oneOf[NewKey], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	if in.Body.Expires != nil && !in.Body.Expires.After(time.Now()) {
		return nil, fault.Invalidf("expires: this time has passed")
	}
	var out oneOf[NewKey]
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body.Key, err = identity.CreateKey(ctx, tx, in.AgentID, in.Body.UserID, in.Body.Expires, adminActor)
		return err
	}, identity.KeysChanged)
	return &out, err
}

type importKeyInput struct {
	AgentPath
	Body struct {
		Prefix string `json:"prefix" example:"steer_sk_a1B2c3"`
		Hash   string `json:"hash"`
	}
}

func (s *server) importKey(ctx context.Context, in *importKeyInput) (*nothing, error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	return nil, s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.ImportKey(ctx, tx, in.AgentID, in.Body.Prefix, in.Body.Hash, adminActor)
	}, identity.KeysChanged)
}

type revokeKeyInput struct {
	Prefix string `path:"prefix" doc:"What stands between holm_sk_ and the next _ of the key."`
}

func (s *server) revokeKey(ctx context.Context, in *revokeKeyInput) (*nothing, error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	return nil, s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.RevokeKey(ctx, tx, in.Prefix, adminActor)
	}, identity.KeysChanged)
}
