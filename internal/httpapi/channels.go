package httpapi

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
)

func (s *server) registerChannels() {
	handle(s, huma.Operation{
		OperationID: "list-channels", Method: http.MethodGet, Path: "/api/channels",
		Summary: "List channels", Description: "Holm's own first, then those that run outside.", Tags: []string{"channels"},
	}, s.listChannels)
	handle(s, huma.Operation{
		OperationID: "create-channel", Method: http.MethodPost, Path: "/api/channels", DefaultStatus: http.StatusCreated,
		Summary: "Register a channel that runs outside", Description: "The answer holds the only copy of its token.", Tags: []string{"channels"},
	}, s.createChannel)
	handle(s, huma.Operation{
		OperationID: "remove-channel", Method: http.MethodDelete, Path: "/api/channels/{namespace}", DefaultStatus: http.StatusNoContent,
		Summary: "Forget a channel that runs outside; its token ends", Tags: []string{"channels"},
	}, s.removeChannel)
}

// Channel is a connection to a chat platform.
type Channel struct {
	Namespace string `json:"namespace"`
	AgentID   string `json:"agentId"`
	// Kind is builtin for Holm's own and external for those that run outside.
	Kind string `json:"kind" enum:"builtin,external"`
	// URL takes the cards of an external one.
	URL       string    `json:"url,omitempty"`
	Connected *bool     `json:"connected,omitempty" doc:"Of builtin channels."`
	Account   string    `json:"account,omitempty"`
	LastEvent time.Time `json:"lastEvent,omitzero"`
	Error     string    `json:"error,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	// Closed are the people who cannot be written to.
	Closed []ClosedRoute `json:"closed,omitempty"`
}

func (s *server) listChannels(ctx context.Context, _ *nothing) (*listOf[Channel], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	var all []Channel
	if s.Channels != nil {
		own, err := s.Channels(ctx)
		if err != nil {
			return nil, err
		}
		for _, h := range own {
			all = append(all, Channel{
				Namespace: h.Namespace, AgentID: h.AgentID, Kind: "builtin", Connected: &h.Connected,
				Account: h.Account, LastEvent: h.LastEvent, Error: h.Error, Closed: h.Closed,
			})
		}
	}
	external, err := identity.ListChannels(ctx, s.Pool)
	for _, c := range external {
		all = append(all, Channel{Namespace: c.Namespace, AgentID: c.AgentID, Kind: "external", URL: c.URL, CreatedAt: c.CreatedAt})
	}
	return list(all), err
}

type createChannelInput struct {
	Body struct {
		Namespace string `json:"namespace" doc:"The first part of its identities: lower-case letters, digits and -." example:"matrix"`
		AgentID   string `json:"agentId"`
		URL       string `json:"url" doc:"Where the adapter takes cards, by POST." example:"https://adapter.example.com/holm"`
	}
}

// ChannelWithToken is a new channel with the only copy of its token.
type ChannelWithToken struct {
	Namespace string `json:"namespace"`
	AgentID   string `json:"agentId"`
	Token     string `json:"token"`
	// SigningSecret, in hexadecimal, proves to the adapter that a card is
	// Holm's: see docs/channel-adapters.md.
	SigningSecret string `json:"signingSecret"`
}

func (s *server) createChannel(ctx context.Context, in *createChannelInput) (*oneOf[ChannelWithToken], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	out := oneOf[ChannelWithToken]{Body: ChannelWithToken{Namespace: in.Body.Namespace, AgentID: in.Body.AgentID}}
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body.Token, err = identity.CreateChannel(ctx, tx, in.Body.AgentID, in.Body.Namespace, in.Body.URL, adminActor)
		if err != nil {
			return err
		}
		made, err := identity.GetChannel(ctx, tx, in.Body.Namespace)
		out.Body.SigningSecret = hex.EncodeToString(made.SigningSecret(s.Secret))
		return err
	})
	return &out, err
}

type channelPath struct {
	Namespace string `path:"namespace"`
}

func (s *server) removeChannel(ctx context.Context, in *channelPath) (*nothing, error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	return nil, s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.RemoveChannel(ctx, tx, in.Namespace, adminActor)
	})
}
