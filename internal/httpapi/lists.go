package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holm/internal/fault"
)

func (s *server) registerLists() {
	handle(s, huma.Operation{
		OperationID: "answer-list", Method: http.MethodPost, Path: "/api/agents/{agentId}/lists/answer",
		Summary: "Press a button of a list of requests, or one that decides nothing", Tags: []string{"approvals"},
		Description: "For a channel that runs outside: the person named in X-Channel-User-Id pressed the button. " +
			"From a list each request is decided as by its own card; what could not be is named. The list itself is edited. " +
			"A button of a card that decides nothing, as Details, does what it says; what it brings comes as messages.",
	}, s.answerList)
}

type answerListInput struct {
	AgentPath
	Body struct {
		Button string `json:"button" maxLength:"64" doc:"The token of the button."`
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Reaches the requesters of what is decided."`
	}
}

// ListAnswer is what the person is told, empty where the list itself changes.
type ListAnswer struct {
	Text string `json:"text"`
}

func (s *server) answerList(ctx context.Context, in *answerListInput) (*oneOf[ListAnswer], error) {
	if err := s.known(ctx, in.AgentID); err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	other := fault.New(fault.Forbidden, "other_button", "this button was not made for this person")
	if c.channel == "" || c.requester == "" || s.Press == nil {
		return nil, other
	}
	text, ok, err := s.Press(ctx, in.AgentID, c.person, in.Body.Button, in.Body.Reason)
	if err == nil && !ok {
		err = other
	}
	return &oneOf[ListAnswer]{Body: ListAnswer{text}}, err
}
