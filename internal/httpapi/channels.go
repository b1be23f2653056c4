package httpapi

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/fault"
	"holm/internal/identity"
)

func (s *server) registerChannels() {
	handle(s, huma.Operation{
		OperationID: "list-channels", Method: http.MethodGet, Path: "/api/channels",
		Summary: "List channels", Description: "Holm's own first, then those that run outside.", Tags: []string{"channels"},
	}, s.listChannels)
	handle(s, huma.Operation{
		OperationID: "show-channel", Method: http.MethodGet, Path: "/api/channels/{namespace}",
		Summary: "Show a channel with its closed routes and last failures", Tags: []string{"channels"},
	}, s.showChannel)
	handle(s, huma.Operation{
		OperationID: "create-channel", Method: http.MethodPost, Path: "/api/channels", DefaultStatus: http.StatusCreated,
		Summary: "Add one of Holm's own channels, or register one that runs outside",
		Description: "With secrets, one of Holm's own: every process opens it at once. With url, one that runs outside: the answer " +
			"holds the only copy of its token.", Tags: []string{"channels"},
	}, s.createChannel)
	handle(s, huma.Operation{
		OperationID: "rotate-channel", Method: http.MethodPost, Path: "/api/channels/{namespace}/rotate",
		Summary: "Give a channel that was added other secrets while it runs",
		Description: "One of Holm's own takes its new secrets: every process goes over to them, and no message is lost. One that runs " +
			"outside takes none: the answer holds the only copy of its new token, and the earlier one ends.", Tags: []string{"channels"},
	}, s.rotateChannel)
	handle(s, huma.Operation{
		OperationID: "test-channels", Method: http.MethodPost, Path: "/api/channels/test",
		Summary: "Send every owner a test card and tell who got it", Tags: []string{"channels"},
	}, s.testChannels)
	handle(s, huma.Operation{
		OperationID: "remove-channel", Method: http.MethodDelete, Path: "/api/channels/{namespace}", DefaultStatus: http.StatusNoContent,
		Summary: "Close a channel that was added; the token of one that runs outside ends", Tags: []string{"channels"},
	}, s.removeChannel)
}

// Channel is a connection to a chat platform.
type Channel struct {
	Namespace string `json:"namespace"`
	AgentID   string `json:"agentId"`
	// Kind is builtin for Holm's own and external for those that run outside.
	Kind string `json:"kind" enum:"builtin,external"`
	// SetBy tells who set it up: only what was added can be removed here.
	SetBy string `json:"setBy" enum:"settings,operator"`
	// URL takes the cards of an external one.
	URL string `json:"url,omitempty"`
	// Lists is how many requests one message of an external one lists.
	Lists     int       `json:"lists,omitempty"`
	Connected *bool     `json:"connected,omitempty" doc:"Of builtin channels."`
	Account   string    `json:"account,omitempty"`
	LastEvent time.Time `json:"lastEvent,omitzero"`
	Error     string    `json:"error,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	// Cards counts those of the last 24 hours.
	Cards approvals.Tally `json:"cards"`
	// Closed are the people who cannot be written to.
	Closed []ClosedRoute `json:"closed,omitempty"`
}

func (s *server) listChannels(ctx context.Context, _ *nothing) (*listOf[Channel], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	all, err := s.allChannels(ctx)
	return list(all), err
}

// allChannels are Holm's own, then those that run outside.
func (s *server) allChannels(ctx context.Context) (all []Channel, err error) {
	if s.Channels != nil {
		own, err := s.Channels(ctx)
		if err != nil {
			return nil, err
		}
		for _, h := range own {
			setBy := "settings"
			if h.Stored {
				setBy = "operator"
			}
			all = append(all, Channel{
				Namespace: h.Namespace, AgentID: h.AgentID, Kind: "builtin", SetBy: setBy, Connected: &h.Connected,
				Account: h.Account, LastEvent: h.LastEvent, Error: h.Error,
			})
		}
	}
	external, err := identity.ListChannels(ctx, s.Pool)
	if err != nil {
		return nil, err
	}
	for _, c := range external {
		all = append(all, Channel{
			Namespace: c.Namespace, AgentID: c.AgentID, Kind: "external", SetBy: "operator", URL: c.URL, Lists: c.Lists, CreatedAt: c.CreatedAt,
		})
	}
	tallies, err := approvals.Tallies(ctx, s.Pool)
	if err != nil {
		return nil, err
	}
	closed := map[string][]ClosedRoute{}
	if s.ClosedRoutes != nil {
		if closed, err = s.ClosedRoutes(ctx); err != nil {
			return nil, err
		}
	}
	for i, c := range all {
		all[i].Cards, all[i].Closed = tallies[c.Namespace], closed[c.Namespace]
	}
	return all, nil
}

// ChannelDetails is a channel with what failed on it.
type ChannelDetails struct {
	Channel
	// Failures are the last cards that could not be sent or edited.
	Failures []approvals.FailedDelivery `json:"failures"`
}

func (s *server) showChannel(ctx context.Context, in *ChannelPath) (*oneOf[ChannelDetails], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	all, err := s.allChannels(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c Channel) bool { return c.Namespace == in.Namespace })
	if at < 0 {
		return nil, fault.NotFoundf("no channel %q", in.Namespace)
	}
	failures, err := approvals.FailedDeliveries(ctx, s.Pool, in.Namespace)
	return &oneOf[ChannelDetails]{Body: ChannelDetails{Channel: all[at], Failures: failures}}, err
}

type createChannelInput struct {
	Body struct {
		Namespace string            `json:"namespace" doc:"The first part of its identities: lower-case letters, digits and -." example:"matrix"`
		AgentID   string            `json:"agentId"`
		URL       string            `json:"url,omitempty" doc:"Of one that runs outside: where the adapter takes cards, by POST." example:"https://adapter.example.com/holm"`
		Lists     int               `json:"lists,omitempty" minimum:"0" maximum:"24" doc:"Of one that runs outside: how many requests one of its messages lists, from 2; 0 for a card each."`
		Mode      string            `json:"mode,omitempty" doc:"Of one of Holm's own: how events arrive, e.g. polling or webhook, socket or events."`
		Secrets   map[string]string `json:"secrets,omitempty" doc:"Of one of Holm's own: token for telegram and discord; bot_token with app_token or signing_secret for slack. Kept sealed and never shown."`
	}
}

// ChannelAdded is a new channel; of one that runs outside with the only copy of
// its token.
type ChannelAdded struct {
	Namespace string `json:"namespace"`
	AgentID   string `json:"agentId"`
	Token     string `json:"token,omitempty"`
	// SigningSecret, in hexadecimal, proves to the adapter that a card is
	// Holm's: see docs/channel-adapters.md.
	SigningSecret string `json:"signingSecret,omitempty"`
}

func (s *server) createChannel(ctx context.Context, in *createChannelInput) (*oneOf[ChannelAdded], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	out := oneOf[ChannelAdded]{Body: ChannelAdded{Namespace: in.Body.Namespace, AgentID: in.Body.AgentID}}
	switch {
	case in.Body.Secrets != nil && in.Body.URL != "":
		return nil, fault.Invalidf("want either the address of a channel that runs outside or the secrets of one of Holm's own")
	case in.Body.Secrets != nil:
		return &out, s.addOwnChannel(ctx, in)
	}
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body.Token, err = identity.CreateChannel(ctx, tx, in.Body.AgentID, in.Body.Namespace, in.Body.URL, in.Body.Lists, adminActor)
		if err != nil {
			return err
		}
		made, err := identity.GetChannel(ctx, tx, in.Body.Namespace)
		out.Body.SigningSecret = hex.EncodeToString(made.SigningSecret(s.Secret))
		return err
	})
	return &out, err
}

func (s *server) addOwnChannel(ctx context.Context, in *createChannelInput) error {
	c := identity.OwnChannel{Namespace: in.Body.Namespace, AgentID: in.Body.AgentID, Mode: in.Body.Mode, Secrets: in.Body.Secrets}
	if s.CheckChannel == nil {
		return fault.New(fault.Unavailable, "unavailable", "this process opens no channels")
	}
	if err := s.CheckChannel(c); err != nil {
		return err
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.AddOwnChannel(ctx, tx, s.Secret, c, adminActor)
	}, identity.ChannelsChanged)
}

type testChannelsInput struct {
	Body ChannelTest
}

// ChannelTest says whose owners get a test card, and where.
type ChannelTest struct {
	Namespace string `json:"namespace,omitempty" doc:"Default: every channel."`
	AgentID   string `json:"agentId,omitempty" doc:"Default: the owners of all agents."`
}

// ChannelReached tells whether an owner got the test card.
type ChannelReached struct {
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	Name     string `json:"name"`
	AgentID  string `json:"agentId"`
	Reached  bool   `json:"reached"`
	// Why says why not.
	Why string `json:"why,omitempty"`
}

func (s *server) testChannels(ctx context.Context, in *testChannelsInput) (*listOf[ChannelReached], error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	if s.TestChannels == nil {
		return nil, fault.New(fault.Unavailable, "unavailable", "this process opens no channels")
	}
	if in.Body.AgentID != "" {
		if _, err := identity.GetAgent(ctx, s.Pool, in.Body.AgentID); err != nil {
			return nil, err
		}
	}
	if in.Body.Namespace != "" {
		if _, err := s.showChannel(ctx, &ChannelPath{in.Body.Namespace}); err != nil {
			return nil, err
		}
	}
	reached, err := s.TestChannels(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	got := 0
	for _, r := range reached {
		if r.Reached {
			got++
		}
	}
	return list(reached), s.inTx(ctx, func(tx pgx.Tx) error {
		return audit.Write(ctx, tx, audit.Record{Kind: "channel_tested", AgentID: in.Body.AgentID, Actor: adminActor, Data: map[string]any{
			"namespace": in.Body.Namespace, "reached": got, "notReached": len(reached) - got,
		}})
	})
}

// ChannelPath names a channel.
type ChannelPath struct {
	Namespace string `path:"namespace"`
}

func (s *server) removeChannel(ctx context.Context, in *ChannelPath) (*nothing, error) {
	if err := operatorOnly(ctx); err != nil {
		return nil, err
	}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		return identity.RemoveChannel(ctx, tx, in.Namespace, adminActor)
	}, identity.ChannelsChanged)
	if fault.Is(err, "not_found") {
		return nil, s.whyMissing(ctx, in.Namespace, err)
	}
	return nil, err
}

// whyMissing tells of a channel that only the settings can change.
func (s *server) whyMissing(ctx context.Context, namespace string, missing error) error {
	all, err := s.allChannels(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Namespace == namespace && c.SetBy == "settings" {
			return fault.New(fault.Conflict, "set_by_settings",
				"channel %q is set up by the settings of holm serve: change them and start again", namespace)
		}
	}
	return missing
}
