// Package builtin holds the tools that Holm serves itself beside those of
// upstream servers. Each does what its REST call does, for callers whom policy
// lets through. None asks for a role besides, but those about one request for
// approval: a caller knows of their own, an owner of all.
package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/wake"
	"holm/policy"
	"holm/policy/rulestore"
)

// Config is what the tools work on; all fields are required.
type Config struct {
	Pool  *pgxpool.Pool
	Hub   *wake.Hub
	Rules *rulestore.Store
	// Approvals waits, cancels and decides.
	Approvals *approvals.Service
	// Tools are all tools there are, as far as they are known.
	Tools func(ctx context.Context) []policy.ToolInfo
}

// All gives every tool.
func All(c Config) []gateway.Builtin {
	return slices.Concat(policyTools(c), circleTools(c), approvalTools(c), userTools(c), linkTools(c), sessionTools(c))
}

func policyTools(c Config) []gateway.Builtin {
	return []gateway.Builtin{{
		Name: "policy_list", Description: "List the policy rows of this agent.",
		Schema: schema(`{"resourceType":{"type":"string","enum":["tool","mcp","file","exec"]}}`),
		Run:    c.listPolicies,
	}, {
		Name: "policy_set", Governs: true, Description: "Store a policy row of this agent: who may use a resource, who may not, or whose use needs an owner's approval. " +
			"A row with the same type, key, effect and scope is replaced. Notes in the answer say what of the row may not be meant.",
		Schema: schema(`{
			"resourceType":{"type":"string","enum":["tool","mcp","file","exec"]},
			"resourceKey":{"type":"string","description":"a tool such as mcp__git__log, a glob such as mcp__git__*, a server, a path, a command"},
			"effect":{"type":"string","enum":["allow","deny","require_approval"]},
			"grants":{"type":"array","items":{"type":"object"},"description":"[{type:any}] or {type:role|user|circle, value}"},
			"scope":{"type":"object","description":"args: conditions on arguments; approval: how a person is asked"},
			"note":{"type":"string"},
			"addGrants":{"type":"boolean","default":false,"description":"add the grants to those of the row that is there, instead of replacing them"},
			"keepDefaults":{"type":"boolean","default":true,"description":"also store the default grants that the row would replace"},
			"force":{"type":"boolean","default":false,"description":"store the row although somebody is locked out by it, or no tool has an argument that it names"}}`, "resourceType", "resourceKey", "effect", "grants"),
		Run: c.setPolicy,
	}, {
		Name: "policy_delete", Governs: true, Description: "Delete the policy rows of one key of this agent, of one effect or of all.",
		Schema: schema(`{
			"resourceKey":{"type":"string"},
			"resourceType":{"type":"string","enum":["tool","mcp","file","exec"],"default":"tool"},
			"effect":{"type":"string","enum":["allow","deny","require_approval"]},
			"force":{"type":"boolean","default":false,"description":"delete the rows although somebody is locked out by it"}}`, "resourceKey"),
		Run: c.deletePolicy,
	}}
}

func (c Config) listPolicies(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		ResourceType string `json:"resourceType"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	rows, err := rulestore.List(ctx, c.Pool, call.AgentID, in.ResourceType)
	if rows == nil {
		rows = []rulestore.Row{}
	}
	return map[string]any{"policies": rows}, err
}

func (c Config) setPolicy(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	in := struct {
		ResourceType string          `json:"resourceType"`
		ResourceKey  string          `json:"resourceKey"`
		Effect       policy.Effect   `json:"effect"`
		Grants       json.RawMessage `json:"grants"`
		Scope        json.RawMessage `json:"scope"`
		Note         string          `json:"note"`
		AddGrants    bool            `json:"addGrants"`
		KeepDefaults bool            `json:"keepDefaults"`
		Force        bool            `json:"force"`
	}{KeepDefaults: true}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	row := policy.Row{AgentID: call.AgentID, ResourceType: in.ResourceType, ResourceKey: in.ResourceKey, Effect: in.Effect, Note: in.Note}
	var err error
	if row.Grants, err = policy.ParseGrants(in.Grants); err != nil {
		return nil, rulestore.Invalid(err)
	}
	if row.Scope, err = policy.ParseScope(row.ResourceType, in.Scope); err != nil {
		return nil, rulestore.Invalid(err)
	}
	change := rulestore.Change{Row: row, AddGrants: in.AddGrants, KeepDefaults: in.KeepDefaults, Force: in.Force, Tools: c.Tools(ctx)}
	var written rulestore.Written
	err = c.change(ctx, call, func(tx pgx.Tx) (err error) {
		written, err = rulestore.Set(ctx, tx, change, call.RequesterID())
		return err
	})
	return map[string]any{"policy": written}, err
}

func (c Config) deletePolicy(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	in := struct {
		ResourceKey  string        `json:"resourceKey"`
		ResourceType string        `json:"resourceType"`
		Effect       policy.Effect `json:"effect"`
		Force        bool          `json:"force"`
	}{ResourceType: policy.TypeTool}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	actor, err := c.actor(ctx, call)
	if err != nil {
		return nil, err
	}
	var removed []rulestore.Row
	guard := rulestore.Deleting(call.AgentID, in.Effect, c.Tools(ctx), in.Force)
	err = c.change(ctx, call, func(tx pgx.Tx) error {
		return guard.Do(ctx, tx, func() (err error) {
			removed, err = c.Approvals.DeleteRows(ctx, tx, call.AgentID, in.ResourceType, in.ResourceKey, in.Effect, actor)
			return err
		})
	})
	return map[string]any{"deleted": removed}, err
}

// change commits a change of an agent's policy and makes it hold.
func (c Config) change(ctx context.Context, call gateway.BuiltinCall, do func(pgx.Tx) error) error {
	if err := db.InTx(ctx, c.Pool, do); err != nil {
		return err
	}
	c.Rules.Changed(call.AgentID)
	c.Hub.Publish(audit.QueuedKey)
	return nil
}

// schema makes the JSON Schema of an object.
func schema(properties string, required ...string) json.RawMessage {
	if required == nil {
		required = []string{}
	}
	raw, err := json.Marshal(map[string]any{
		"type": "object", "properties": json.RawMessage(properties), "required": required, "additionalProperties": false,
	})
	if err != nil {
		panic(err) // the schemas are constants of this package
	}
	return raw
}

// read takes the arguments; unknown ones are refused.
func read(call gateway.BuiltinCall, into any) error {
	d := json.NewDecoder(bytes.NewReader(call.Args))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fault.Invalidf("arguments: %s", inWords(err))
	}
	return nil
}

// inWords says what is wrong with arguments by the names that the caller gave them.
func inWords(err error) string {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s: a JSON %s is none of the values that it takes", cmp.Or(mistyped.Field, "they are no object"), mistyped.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "there is no argument " + name
	}
	return "they cannot be read"
}
