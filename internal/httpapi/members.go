package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/policy"
)

func (s *server) registerMembers() {
	handle(s, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/api/agents/{agentId}/members",
		Summary: "List the people of an agent", Tags: []string{"people"},
	}, s.listMembers)
	handle(s, huma.Operation{
		OperationID: "set-member-role", Method: http.MethodPatch, Path: "/api/agents/{agentId}/members/{userId}",
		Summary: "Change a person's role", Description: "What a former owner has approved and is not used yet ends for good. The answer says what ended, and what stands.", Tags: []string{"people"},
	}, s.setMemberRole)
	handle(s, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/api/agents/{agentId}/members/{userId}",
		Summary: "Take a person from an agent", Description: "Their keys, what was approved for them, their open questions and what rows allow to them by name end. The answer says what ended, and what stands.", Tags: []string{"people"},
	}, s.removeMember)
	handle(s, huma.Operation{
		OperationID: "create-invite", Method: http.MethodPost, Path: "/api/agents/{agentId}/invites", DefaultStatus: http.StatusCreated,
		Summary: "Invite a person", Tags: []string{"people"},
		Description: "Whoever presents the token first, to the bot on one of the channels, gets the role. The answer holds the only copy.",
	}, s.createInvite)
	handle(s, huma.Operation{
		OperationID: "redeem-invite", Method: http.MethodPost, Path: "/api/agents/{agentId}/invites/redeem",
		Summary: "Use an invitation for a person", Tags: []string{"people"},
		Description: "For a channel that runs outside: the person named in X-Channel-User-Id presents the token of an invitation, or the access token of a protected agent, in their own chat. " +
			"A public agent takes them as a guest without a token.",
	}, s.redeemInvite)
}

func (s *server) listMembers(ctx context.Context, in *AgentPath) (*listOf[identity.Member], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	members, err := identity.Members(ctx, s.Pool, in.AgentID)
	return list(members), err
}

// MemberPath names a person of an agent.
type MemberPath struct {
	AgentPath
	UserID string `path:"userId"`
}

type setMemberRoleInput struct {
	MemberPath
	Body struct {
		Role  string `json:"role" enum:"owner,user,guest"`
		Force bool   `json:"force,omitempty" doc:"Also when no owner would be left."`
	}
}

func (s *server) setMemberRole(ctx context.Context, in *setMemberRoleInput) (*oneOf[approvals.Endings], error) {
	return s.endingChange(ctx, in.AgentID, func(tx pgx.Tx) (approvals.Endings, error) {
		return s.Approvals.SetRole(ctx, tx, in.AgentID, in.UserID, policy.Role(in.Body.Role), in.Body.Force, theOperator)
	})
}

// endingChange commits a change that ends something, and tells what.
func (s *server) endingChange(ctx context.Context, agentID string, do func(pgx.Tx) (approvals.Endings, error)) (*oneOf[approvals.Endings], error) {
	if err := s.manages(ctx, agentID); err != nil {
		return nil, err
	}
	var out oneOf[approvals.Endings]
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body, err = do(tx)
		return err
	})
	return &out, err
}

type removeMemberInput struct {
	MemberPath
	Force bool `query:"force" doc:"Also when no owner would be left."`
}

func (s *server) removeMember(ctx context.Context, in *removeMemberInput) (*oneOf[approvals.Endings], error) {
	return s.endingChange(ctx, in.AgentID, func(tx pgx.Tx) (approvals.Endings, error) {
		return s.Approvals.RemoveMember(ctx, tx, in.AgentID, in.UserID, in.Force, theOperator)
	})
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

type redeemInviteInput struct {
	AgentPath
	Body struct {
		Token string `json:"token,omitempty" doc:"Absent or empty: to become a guest of a public agent."`
		Name  string `json:"name,omitempty" doc:"The person's name, for cards." maxLength:"200"`
	}
}

// redeemInvite is what the bot does on Holm's own channels.
func (s *server) redeemInvite(ctx context.Context, in *redeemInviteInput) (*oneOf[identity.Member], error) {
	c := callerOf(ctx)
	if c.channel == "" || c.agentID != in.AgentID {
		return nil, fault.New(fault.Forbidden, "forbidden", "only a channel's token presents invitations")
	}
	var m identity.Membership
	err := identity.Try(ctx, s.Pool, c.person, func() error {
		return s.inTx(ctx, func(tx pgx.Tx) (err error) {
			if in.Body.Token == "" {
				m, err = identity.Admit(ctx, tx, c.agentID, c.person, in.Body.Name)
				return err
			}
			if m, err = identity.Redeem(ctx, tx, in.Body.Token, c.person, in.Body.Name); err != nil {
				return err
			}
			if m.AgentID != c.agentID {
				return fault.New(fault.Gone, "invite_invalid", "this token is of another agent")
			}
			return s.Approvals.DeliverOpen(ctx, tx, m.AgentID)
		})
	})
	return &oneOf[identity.Member]{Body: identity.Member{UserID: m.User.ID, Name: m.User.Name, Role: m.Role, Identities: []string{c.person.String()}}}, err
}
