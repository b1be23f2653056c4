package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/linking"
)

func (s *server) registerLinks() {
	handle(s, huma.Operation{
		OperationID: "request-link", Method: http.MethodPost, Path: "/api/agents/{agentId}/links", DefaultStatus: http.StatusCreated,
		Summary: "Begin to link another account of the same person", Tags: []string{"people"},
		Description: "For the user a key is bound to, or the person a channel speaks for. The answer holds the only copy of a token that is good once, for ten minutes.",
	}, s.requestLink)
	handle(s, huma.Operation{
		OperationID: "confirm-link", Method: http.MethodPost, Path: "/api/agents/{agentId}/links/confirm",
		Summary: "Present the token for the other account", Tags: []string{"people"},
		Description: "Nothing is linked by this: both accounts are asked in their own chats.",
	}, s.confirmLink)
	handle(s, huma.Operation{
		OperationID: "answer-link", Method: http.MethodPost, Path: "/api/agents/{agentId}/links/answer",
		Summary: "Press a button of a question or of news about a link", Tags: []string{"people"},
		Description: "For a channel that runs outside: the person named in X-Channel-User-Id pressed a button whose token begins with l.",
	}, s.answerLink)
}

// side is who links: a person, never an agent and never the operator.
func (s *server) side(ctx context.Context, agentID string) (linking.Side, error) {
	if err := s.known(ctx, agentID); err != nil {
		return linking.Side{}, err
	}
	c := callerOf(ctx)
	if c.channel != "" {
		return linking.Side{UserID: c.requester, Address: c.person}, nil
	}
	if c.operator || strings.HasPrefix(c.requester, identity.AgentRequester("")) {
		return linking.Side{}, fault.New(fault.Forbidden, "no_person", "this credential speaks for no person; the operator merges users instead")
	}
	return linking.Side{UserID: c.requester}, nil
}

// LinkToken is the token of a link that was begun.
type LinkToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (s *server) requestLink(ctx context.Context, in *AgentPath) (*oneOf[LinkToken], error) {
	side, err := s.side(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	if side.UserID == "" {
		return nil, fault.New(fault.Forbidden, "unknown_person", "%s is not linked to a user", side.Address)
	}
	token, err := linking.New(s.Approvals).Request(ctx, in.AgentID, side)
	return &oneOf[LinkToken]{Body: LinkToken{token, time.Now().Add(linking.TTL).UTC().Truncate(time.Second)}}, err
}

type confirmLinkInput struct {
	AgentPath
	Body struct {
		Token string `json:"token"`
		Name  string `json:"name,omitempty" maxLength:"200" doc:"The person's name, for cards."`
	}
}

// LinkState is how a link stands.
type LinkState struct {
	State string `json:"state" enum:"presented,linked,refused,undone"`
}

func (s *server) confirmLink(ctx context.Context, in *confirmLinkInput) (*oneOf[LinkState], error) {
	side, err := s.side(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	who := side.Address
	if who.Channel == "" {
		who = identity.Address{Channel: "user", Identity: side.UserID}
	}
	var d linking.Dialog
	err = identity.Try(ctx, s.Pool, who, func() (err error) {
		d, err = linking.New(s.Approvals).Present(ctx, in.Body.Token, side, in.Body.Name)
		return err
	})
	return &oneOf[LinkState]{Body: LinkState{d.State}}, err
}

type answerLinkInput struct {
	AgentPath
	Body struct {
		Button string `json:"button" doc:"The token of the button."`
	}
}

func (s *server) answerLink(ctx context.Context, in *answerLinkInput) (*oneOf[LinkState], error) {
	if err := s.known(ctx, in.AgentID); err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	btn, ok := linking.ReadButton(s.Secret, c.person, in.Body.Button)
	if c.channel == "" || c.requester == "" || !ok {
		return nil, fault.New(fault.Forbidden, "other_button", "this button was not made for this person")
	}
	d, err := linking.New(s.Approvals).Press(ctx, btn, c.requester)
	return &oneOf[LinkState]{Body: LinkState{d.State}}, err
}
