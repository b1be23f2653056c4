package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/internal/identity"
)

func (s *server) registerMembers() {
	handle(s, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/api/agents/{agentId}/members",
		Summary: "List the people of an agent", Tags: []string{"people"},
	}, s.listMembers)
	handle(s, huma.Operation{
		OperationID: "create-invite", Method: http.MethodPost, Path: "/api/agents/{agentId}/invites", DefaultStatus: http.StatusCreated,
		Summary: "Invite a person", Tags: []string{"people"},
		Description: "Whoever presents the token first, to the bot on one of the channels, gets the role. The answer holds the only copy.",
	}, s.createInvite)
}

func (s *server) listMembers(ctx context.Context, in *AgentPath) (*listOf[identity.Member], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	members, err := identity.Members(ctx, s.Pool, in.AgentID)
	return list(members), err
}

type createInviteInput struct {
	AgentPath
	Body struct {
		Role string `json:"role" enum:"owner,user,guest"`
	}
}

// Invite is an invitation with the places where it can be used, by channel.
type Invite struct {
	Token     string          `json:"token"`
	Links     map[string]Link `json:"links"`
	ExpiresAt time.Time       `json:"expiresAt"`
}

func (s *server) createInvite(ctx context.Context, in *createInviteInput) (*oneOf[Invite], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	role, err := identity.CheckRole(in.Body.Role)
	if err != nil {
		return nil, err
	}
	invite := Invite{Links: map[string]Link{}, ExpiresAt: time.Now().UTC().Add(identity.InviteTTL).Truncate(time.Second)}
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		invite.Token, err = identity.CreateInvite(ctx, tx, in.AgentID, role, adminActor)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.Links != nil {
		if links := s.Links(ctx, invite.Token); links != nil {
			invite.Links = links
		}
	}
	return &oneOf[Invite]{Body: invite}, nil
}
