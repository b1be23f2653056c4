package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holm/approvals"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
	"holm/policy/rulestore"
)

func (s *server) registerEnforcement() {
	handle(s, huma.Operation{
		OperationID: "enforce-access", Method: http.MethodPost, Path: "/api/agents/{agentId}/access/enforce",
		Summary: "Ask the gate about a call that the caller runs itself", Tags: []string{"policies"},
		Description: "Decides, records and asks as a call on the MCP endpoint does, but runs nothing: 200 means that the call may be made, once, now. " +
			"403 access_denied names the rule. 409 approval_required has the request; the same question again attaches to it. " +
			"403 approval_rejected, 410 approval_expired and 409 approval_cancelled are told once. An agent's key speaks for itself; " +
			"its own key with the sessionId of a conversation speaks for the person who has written there, as Holm-Session does over MCP: 404 no_session where it may not.",
	}, s.enforceAccess)
	handle(s, huma.Operation{
		OperationID: "report-outcome", Method: http.MethodPost, Path: "/api/agents/{agentId}/access/enforce/{id}/outcome",
		Summary: "Report what became of a call that an approval let through", Tags: []string{"policies"},
		Description: "Once; the same again changes nothing, another is 409 already_reported. What is not reported within an hour is shown as " +
			"outcome_unknown, which a later report corrects.",
	}, s.reportOutcome)
}

// Enforcement is a call that is put to the gate; package gateway says what its
// parts mean.
type Enforcement struct {
	Caller                    identity.Caller
	Session                   session.Session
	ResourceType, ResourceKey string
	Request                   func(ctx context.Context) (policy.Request, error)
	Reprove                   func(ctx context.Context) error
	Wait                      time.Duration
}

// Enforced is what let it through.
type Enforced struct{ GrantID, RequestID string }

type enforceInput struct {
	AgentPath
	Body struct {
		Question
		SessionID string `json:"sessionId,omitempty" doc:"A session of the requester, default the one that their calls share; with the agent's own key also a conversation with the agent: the call is then made on behalf of its person."`
		Wait      int    `json:"wait,omitempty" minimum:"0" maximum:"300" doc:"Seconds to wait for a person; default none."`
	}
}

// Permission lets a call through.
type Permission struct {
	Decision  string `json:"decision" enum:"allow"`
	GrantID   string `json:"grantId,omitempty" doc:"The approval that lets the call through; absent when policy does."`
	RequestID string `json:"requestId,omitempty" doc:"Present when the approval was for this call and is spent by it: its outcome may be reported."`
}

func (s *server) enforceAccess(ctx context.Context, in *enforceInput) (*oneOf[Permission], error) {
	if s.Enforce == nil {
		return nil, fault.New(fault.Unavailable, "unavailable", "this process runs no gate")
	}
	caller, err := s.enforced(ctx, in.AgentID, in.Body.Principal)
	if err != nil {
		return nil, err
	}
	caller, where, err := s.enforcedIn(ctx, caller, in.Body.SessionID)
	if err != nil {
		return nil, err
	}
	build := func(ctx context.Context) (policy.Request, error) {
		principal, err := identity.PrincipalOf(ctx, s.Pool, caller)
		if err != nil {
			return policy.Request{}, err
		}
		return s.request(ctx, principal, &in.Body.Question)
	}
	first, err := build(ctx)
	if err != nil {
		return nil, rulestore.Invalid(err)
	}
	resourceType, key, err := in.Body.subject(first)
	if err != nil {
		return nil, err
	}
	done, err := s.Enforce(ctx, Enforcement{
		Caller: caller, Session: where, ResourceType: resourceType, ResourceKey: key, Request: build,
		Reprove: s.reprove(callerOf(ctx), caller, in.Body.SessionID), Wait: time.Duration(in.Body.Wait) * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &oneOf[Permission]{Body: Permission{Decision: "allow", GrantID: done.GrantID, RequestID: done.RequestID}}, nil
}

// subject is what a person is asked about: the file or command, else the tool.
func (q *Question) subject(req policy.Request) (resourceType, key string, err error) {
	if q.Resource.Type != policy.TypeFile && q.Resource.Type != policy.TypeExec {
		return policy.TypeTool, req.Tool, nil
	}
	if req.Server != "" {
		return "", "", fault.Invalidf("tool: what a server's tool reaches is seen by the server's maps; put the tool itself to the gate")
	}
	return q.Resource.Type, req.Resources[0].Key(), nil
}

// enforced is who a call is put to the gate for. A key speaks for itself; an
// owner for themselves or, like the operator, for whom they name.
func (s *server) enforced(ctx context.Context, agentID string, named *QuestionPrincipal) (identity.Caller, error) {
	c := callerOf(ctx)
	if err := s.known(ctx, agentID); err != nil {
		return identity.Caller{}, err
	}
	if c.key != nil {
		if named != nil {
			return identity.Caller{}, fault.New(fault.Forbidden, "other_principal", "an access key speaks for itself; only an owner or the operator names a principal")
		}
		return *c.key, nil
	}
	if !c.operator && !c.owner {
		return identity.Caller{}, fault.New(fault.Forbidden, "forbidden", "only the agent's key, an owner or the operator may do this")
	}
	caller := identity.Caller{AgentID: agentID, UserID: c.requester}
	if named == nil {
		return caller, nil
	}
	if named.Role != "" || named.Circles != nil || named.UserID == "" {
		return identity.Caller{}, fault.Invalidf("principal: name a user; role and circles are as they are")
	}
	user, err := identity.GetUser(ctx, s.Pool, named.UserID)
	caller.UserID = user.ID
	return caller, err
}

// enforcedIn is the session that the events of a call belong to, and who makes
// it there: with the agent's own key the person whose conversation it is. One
// that the caller may not name looks unknown.
func (s *server) enforcedIn(ctx context.Context, caller identity.Caller, id string) (identity.Caller, session.Session, error) {
	own := session.Session{AgentID: caller.AgentID, RequesterID: caller.RequesterID(), KeyPrefix: caller.KeyPrefix}
	switch {
	case id == "" && caller.KeyPrefix != "":
		own.ID, own.Kind = "key:"+caller.KeyPrefix, session.Key
		return caller, own, nil
	case id == "":
		own.ID, own.Kind = "api:"+caller.AgentID+":"+caller.RequesterID(), session.API
		return caller, own, nil
	}
	if !session.IsName(id) {
		return caller, own, session.ErrNoSession
	}
	found, err := session.Get(ctx, s.Pool, caller.AgentID, id)
	if f, ok := fault.As(err); ok && f.Kind == fault.NotFound {
		return caller, own, session.ErrNoSession
	}
	if err != nil {
		return caller, own, err
	}
	foreign := caller.KeyPrefix != "" && found.KeyPrefix != "" && found.KeyPrefix != caller.KeyPrefix
	switch {
	case found.RequesterID == own.RequesterID && !foreign && found.EndedAt == nil:
		return caller, found, nil
	case caller.KeyPrefix != "":
		return session.OnBehalf(ctx, s.Pool, caller, id)
	}
	return caller, own, session.ErrNoSession
}

// reprove makes sure after a wait that the credential is still good, and that the
// session that was named has not ended and still stands for the same person.
func (s *server) reprove(credential caller, before identity.Caller, sessionID string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := credential.again(); err != nil || sessionID == "" {
			return err
		}
		if before.OnBehalf {
			return session.StillOnBehalf(ctx, s.Pool, *credential.key, before, sessionID)
		}
		found, err := session.Get(ctx, s.Pool, before.AgentID, sessionID)
		if err == nil && found.EndedAt != nil {
			err = session.ErrNoSession
		}
		return err
	}
}

type reportOutcomeInput struct {
	ApprovalPath
	Body struct {
		Outcome string `json:"outcome" enum:"succeeded,failed"`
		Message string `json:"message,omitempty" maxLength:"1000" doc:"For people; it must hold no secrets."`
	}
}

func (s *server) reportOutcome(ctx context.Context, in *reportOutcomeInput) (*approvalOutput, error) {
	r, err := s.seen(ctx, &in.ApprovalPath)
	if err != nil {
		return nil, err
	}
	// Who may only decide a request knows nothing of its call.
	if see, err := s.sees(ctx, in.AgentID); err != nil || !see.coversRequest(r) {
		return nil, errors.Join(err, fault.New(fault.Forbidden, "forbidden", "only who asked, an owner or the operator reports an outcome"))
	}
	if r, err = s.Approvals.Report(ctx, r.ID, approvals.Outcome(in.Body.Outcome), in.Body.Message); err != nil {
		return nil, err
	}
	return s.shown(ctx, r)
}
