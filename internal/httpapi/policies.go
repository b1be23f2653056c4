package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"holm/policy"
	"holm/policy/rulestore"
)

func (s *server) registerPolicies() {
	handle(s, huma.Operation{
		OperationID: "list-policies", Method: http.MethodGet, Path: "/api/agents/{agentId}/policies",
		Summary: "List the policy rows of an agent", Tags: []string{"policies"},
	}, s.listPolicies)
	handle(s, huma.Operation{
		OperationID: "set-policy", Method: http.MethodPost, Path: "/api/agents/{agentId}/policies", DefaultStatus: http.StatusCreated,
		Summary: "Store a policy row", Tags: []string{"policies"},
		Description: "A row with the same type, key, effect and scope is replaced, or gets the grants besides; the answer has the row as it was, and notes on what " +
			"the writer may not expect. An argument that no tool has is refused with 422 unknown_argument; a row that would lock people out with 409 " +
			"would_lock_out and who loses what.",
	}, s.setPolicy)
	handle(s, huma.Operation{
		OperationID: "delete-policies", Method: http.MethodDelete, Path: "/api/agents/{agentId}/policies/{resourceType}/{resourceKey}",
		DefaultStatus: http.StatusNoContent,
		Summary:       "Delete the policy rows of one key", Tags: []string{"policies"},
		Description: "Slashes and other special characters of the key are percent-encoded. What would lock people out is refused with 409 would_lock_out; " +
			"that the tools of servers go with what allows them is meant where the effect is allow.",
	}, s.deletePolicies)
}

type listPoliciesInput struct {
	AgentPath
	ResourceType string `query:"resourceType" enum:"tool,mcp,file,exec"`
}

func (s *server) listPolicies(ctx context.Context, in *listPoliciesInput) (*listOf[rulestore.Row], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	rows, err := rulestore.List(ctx, s.Pool, in.AgentID, in.ResourceType)
	return list(rows), err
}

type setPolicyInput struct {
	AgentPath
	Body struct {
		ResourceType string          `json:"resourceType" enum:"tool,mcp,file,exec"`
		ResourceKey  string          `json:"resourceKey" example:"mcp__git__*"`
		Effect       string          `json:"effect" enum:"allow,deny,require_approval"`
		Grants       json.RawMessage `json:"grants" doc:"A list of {type: any} or {type: role|user|circle, value}."`
		Scope        json.RawMessage `json:"scope,omitempty" doc:"Conditions on arguments and settings of approvals."`
		Note         string          `json:"note,omitempty" maxLength:"500"`
		AddGrants    bool            `json:"addGrants,omitempty" doc:"Add the grants to those of the row that is there, instead of replacing them."`
		KeepDefaults bool            `json:"keepDefaults,omitempty" doc:"Also store the default grants that the row would replace."`
		Force        bool            `json:"force,omitempty" doc:"Store the row although somebody is locked out by it, or no tool has an argument that it names."`
	}
}

func (s *server) setPolicy(ctx context.Context, in *setPolicyInput) (*oneOf[rulestore.Written], error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	row, err := in.row()
	if err != nil {
		return nil, rulestore.Invalid(err)
	}
	change := rulestore.Change{
		Row: row, AddGrants: in.Body.AddGrants, KeepDefaults: in.Body.KeepDefaults, Force: in.Body.Force, Tools: s.tools(ctx),
	}
	var out oneOf[rulestore.Written]
	err = s.inTx(ctx, func(tx pgx.Tx) (err error) {
		out.Body, err = rulestore.Set(ctx, tx, change, adminActor)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Rules.Changed(in.AgentID)
	return &out, nil
}

func (in *setPolicyInput) row() (policy.Row, error) {
	row := policy.Row{
		AgentID: in.AgentID, ResourceType: in.Body.ResourceType, ResourceKey: in.Body.ResourceKey,
		Effect: policy.Effect(in.Body.Effect), Note: in.Body.Note,
	}
	var err error
	if row.Grants, err = policy.ParseGrants(in.Body.Grants); err != nil {
		return row, err
	}
	row.Scope, err = policy.ParseScope(row.ResourceType, in.Body.Scope)
	return row, err
}

type deletePoliciesInput struct {
	AgentPath
	ResourceType string `path:"resourceType" enum:"tool,mcp,file,exec"`
	ResourceKey  string `path:"resourceKey"`
	Effect       string `query:"effect" enum:"allow,deny,require_approval" doc:"Delete rows of this effect alone. Absent: of all."`
	Force        bool   `query:"force" doc:"Delete the rows although somebody is locked out by it."`
}

func (s *server) deletePolicies(ctx context.Context, in *deletePoliciesInput) (*nothing, error) {
	if err := s.manages(ctx, in.AgentID); err != nil {
		return nil, err
	}
	effect := policy.Effect(in.Effect)
	guard := rulestore.Deleting(in.AgentID, effect, s.tools(ctx), in.Force)
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		return guard.Do(ctx, tx, func() error {
			_, err := s.Approvals.DeleteRows(ctx, tx, in.AgentID, in.ResourceType, in.ResourceKey, effect, theOperator)
			return err
		})
	})
	if err == nil {
		s.Rules.Changed(in.AgentID)
	}
	return nil, err
}
