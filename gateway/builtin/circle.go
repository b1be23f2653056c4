package builtin

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/identity"
	"holm/policy/rulestore"
)

func circleTools(c Config) []gateway.Builtin {
	member := `{"circle":{"type":"string"},"userId":{"type":"string"}}`
	return []gateway.Builtin{{
		Name: "circle_list", Description: "List the circles of this agent with their members.",
		Schema: schema(`{}`), Run: c.listCircles,
	}, {
		Name: "circle_add", Governs: true, Description: "Put a member of this agent into a circle; a circle is made with its first member, and the rules that speak for it already are told.",
		Schema: schema(member, "circle", "userId"), Run: c.changeCircle("rules", func(ctx context.Context, tx pgx.Tx, agentID, circle, userID string, a approvals.Actor) (any, error) {
			rules, err := c.Approvals.JoinCircle(ctx, tx, agentID, circle, userID, a)
			return append([]rulestore.Row{}, rules...), err
		}),
	}, {
		Name: "circle_remove", Governs: true, Description: "Take a member out of a circle.",
		Schema: schema(member, "circle", "userId"), Run: c.changeCircle("endings", func(ctx context.Context, tx pgx.Tx, agentID, circle, userID string, a approvals.Actor) (any, error) {
			return c.Approvals.LeaveCircle(ctx, tx, agentID, circle, userID, a)
		}),
	}, {
		Name: "circle_delete", Governs: true, Description: "Empty a circle. What rules allow to it ends with it.",
		Schema: schema(`{"circle":{"type":"string"}}`, "circle"),
		Run: c.changeCircle("endings", func(ctx context.Context, tx pgx.Tx, agentID, circle, _ string, a approvals.Actor) (any, error) {
			return c.Approvals.DeleteCircle(ctx, tx, agentID, circle, a)
		}),
	}}
}

func (c Config) listCircles(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	if err := read(call, &struct{}{}); err != nil {
		return nil, err
	}
	circles, err := identity.Circles(ctx, c.Pool, call.AgentID)
	return map[string]any{"circles": circles}, err
}

// changeCircle makes a tool of a change, which gives what is told of it under a
// name; it answers with that and the circles as they are afterwards.
func (c Config) changeCircle(named string, change func(ctx context.Context, tx pgx.Tx, agentID, circle, userID string, a approvals.Actor) (any, error)) func(context.Context, gateway.BuiltinCall) (any, error) {
	return func(ctx context.Context, call gateway.BuiltinCall) (any, error) {
		var in struct {
			Circle string `json:"circle"`
			UserID string `json:"userId"`
		}
		if err := read(call, &in); err != nil {
			return nil, err
		}
		actor, err := c.actor(ctx, call)
		if err != nil {
			return nil, err
		}
		answer := map[string]any{}
		err = c.change(ctx, call, func(tx pgx.Tx) (err error) {
			if answer[named], err = change(ctx, tx, call.AgentID, in.Circle, in.UserID, actor); err != nil {
				return err
			}
			answer["circles"], err = identity.Circles(ctx, tx, call.AgentID)
			return err
		})
		return answer, err
	}
}
