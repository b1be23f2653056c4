package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holm/approvals"
	"holm/internal/fault"
	"holm/policy"
)

func (s *server) registerReviews() {
	const description = "Decides a pending request, once. 403: not a reviewer. 409 already_decided: who, when and what. 410: expired. " +
		"422: a resolution that the rule does not offer. A channel token also presents the token of the button that was pressed."
	handle(s, huma.Operation{
		OperationID: "review-approval", Method: http.MethodPost, Path: "/api/agents/{agentId}/approvals/{id}/review",
		Summary: "Approve or reject", Description: description, Tags: []string{"approvals"},
	}, s.review)
	handle(s, huma.Operation{
		OperationID: "review-approval-by-number", Method: http.MethodPost, Path: "/api/agents/{agentId}/approvals/by-short/{shortId}/review",
		Summary: "Approve or reject, by the number that people type", Description: description, Tags: []string{"approvals"},
	}, s.reviewByShort)
}

// Review is an answer to a request.
type Review struct {
	Decision   string `json:"decision" enum:"approved,rejected"`
	Resolution string `json:"resolution,omitempty" enum:"single,once,persistent" doc:"Of an approval; default once."`
	Extent     string `json:"extent,omitempty" enum:"tool,arguments" doc:"Of a persistent approval; default tool."`
	Reason     string `json:"reason,omitempty" maxLength:"1000" doc:"Reaches the requester."`
	// TryDifferently goes with a rejection.
	TryDifferently bool   `json:"tryDifferently,omitempty" doc:"Of a rejection: it invites another proposal."`
	Button         string `json:"button,omitempty" maxLength:"64" doc:"The token of the pressed button; for channel tokens."`
}

type reviewInput struct {
	ApprovalPath
	Surface string `header:"User-Agent" hidden:"true"`
	Body    Review
}

type reviewShortInput struct {
	ShortPath
	Surface string `header:"User-Agent" hidden:"true"`
	Body    Review
}

func (s *server) review(ctx context.Context, in *reviewInput) (*approvalOutput, error) {
	if err := mayReview(ctx, s, in.AgentID); err != nil {
		return nil, err
	}
	return s.decide(ctx, in.AgentID, in.ID, in.Body, in.Surface)
}

func (s *server) reviewByShort(ctx context.Context, in *reviewShortInput) (*approvalOutput, error) {
	if err := mayReview(ctx, s, in.AgentID); err != nil {
		return nil, err
	}
	r, err := approvals.GetShort(ctx, s.Pool, in.AgentID, int(in.ShortID))
	if err != nil {
		return nil, err
	}
	return s.decide(ctx, in.AgentID, r.ID, in.Body, in.Surface)
}

// mayReview refuses, before anything is looked up, the credentials that never
// decide: an agent's keys.
func mayReview(ctx context.Context, s *server, agentID string) error {
	if err := s.known(ctx, agentID); err != nil {
		return err
	}
	if c := callerOf(ctx); c.operator || c.channel != "" {
		return nil
	}
	return fault.New(fault.Forbidden, "not_a_reviewer", "an access key asks for approvals; it never gives them")
}

func (s *server) decide(ctx context.Context, agentID, requestID string, body Review, agent string) (*approvalOutput, error) {
	if err := body.check(); err != nil {
		return nil, err
	}
	decision, err := s.decision(ctx, agentID, requestID, body, agent)
	if err != nil {
		return nil, err
	}
	r, err := s.Approvals.Decide(ctx, decision)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, r)
}

// check refuses words that do not go together.
func (b Review) check() error {
	if b.Decision == "rejected" && b.Resolution != "" {
		return fault.Invalidf("a rejection has no resolution")
	}
	if b.Decision == "approved" && b.TryDifferently {
		return fault.Invalidf("only a rejection asks to try it differently")
	}
	if b.Extent != "" && b.Resolution != string(policy.Persistent) {
		return fault.Invalidf("extent belongs to the resolution persistent")
	}
	return nil
}

// decision is what the body means when this caller says it.
func (s *server) decision(ctx context.Context, agentID, requestID string, body Review, agent string) (approvals.Decision, error) {
	c := callerOf(ctx)
	if c.operator {
		return approvals.Decision{
			AgentID: agentID, RequestID: requestID, Approve: body.Decision == "approved",
			Resolution: policy.Resolution(body.Resolution), Extent: approvals.Extent(body.Extent), Reason: body.Reason,
			TryDifferently: body.TryDifferently,
			Actor:          approvals.Actor{Admin: true, Name: "the operator", Via: surface(agent)},
		}, nil
	}
	button, err := s.pressed(ctx, agentID, requestID, body)
	if err != nil {
		return approvals.Decision{}, err
	}
	d := button.Decision(approvals.Actor{UserID: c.requester, Name: c.name, Via: c.channel})
	d.Reason = body.Reason
	d.TryDifferently = d.TryDifferently || body.TryDifferently
	return d, nil
}

// CommandLine begins the User-Agent of the holm command, whose decisions are
// recorded as made in the terminal.
const CommandLine = "holm-cli/"

func surface(userAgent string) string {
	if strings.HasPrefix(userAgent, CommandLine) {
		return "cli"
	}
	return "api"
}

// pressed gives the button that a channel says was pressed, if it was made
// for this person on this request and means what the body says. So a channel
// token alone decides nothing: only what Holm showed to an owner does.
func (s *server) pressed(ctx context.Context, agentID, requestID string, body Review) (approvals.Button, error) {
	if body.Button == "" {
		return approvals.Button{}, fault.New(fault.Forbidden, "no_button", "a channel token decides with the token of the button that was pressed")
	}
	b, err := approvals.FindButton(ctx, s.Pool, s.Secret, body.Button)
	if fault.Is(err, "unknown_button") {
		return b, errOtherButton
	}
	if err != nil {
		return b, err
	}
	person := callerOf(ctx).person
	if b.AgentID != agentID || b.ID != requestID || b.Channel != person.Channel || b.Identity != person.Identity {
		return b, errOtherButton
	}
	if !b.Action.Decides() || !means(b, body) {
		return b, fault.New(fault.Forbidden, "other_decision", "the button means another decision than the request says")
	}
	if !b.Action.Approves() || b.Status != approvals.Pending {
		return b, nil
	}
	if may := s.MayApprove != nil; may {
		if may, err = s.MayApprove(ctx, b); err != nil || may {
			return b, err
		}
	}
	return b, fault.New(fault.Forbidden, "not_shown", "this person has not been shown all that the button approves of request %d; nothing was decided", b.ShortID)
}

var errOtherButton = fault.New(fault.Forbidden, "other_button", "this button was not made for this person and request")

// means tells whether the body says what the button does; what it leaves out
// is the button's to say.
func means(b approvals.Button, body Review) bool {
	return b.Action.Approves() == (body.Decision == "approved") &&
		(body.Resolution == "" || body.Resolution == string(b.Action.Resolution())) &&
		(body.Extent == "" || body.Extent == string(b.Action.Extent()))
}
