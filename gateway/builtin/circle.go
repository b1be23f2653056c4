package builtin

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holm/gateway"
	"holm/internal/identity"
)

func circleTools(c Config) []gateway.Builtin {
	member := `{"circle":{"type":"string"},"userId":{"type":"string"}}`
	return []gateway.Builtin{{
		Name: "circle_list", Description: "List the circles of this agent with their members.",
		Schema: schema(`{}`), Run: c.listCircles,
	}, {
		Name: "circle_add", Governs: true, Description: "Put a member of this agent into a circle; a circle is made with its first member.",
		Schema: schema(member, "circle", "userId"), Run: c.changeCircle(identity.AddToCircle),
	}, {
		Name: "circle_remove", Governs: true, Description: "Take a member out of a circle.",
		Schema: schema(member, "circle", "userId"), Run: c.changeCircle(identity.RemoveFromCircle),
	}, {
		Name: "circle_delete", Governs: true, Description: "Empty a circle. Policy rows that grant to it stay and speak for nobody.",
		Schema: schema(`{"circle":{"type":"string"}}`, "circle"),
		Run: c.changeCircle(func(ctx context.Context, tx pgx.Tx, agentID, name, _, actor string) error {
			return identity.DeleteCircle(ctx, tx, agentID, name, actor)
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

// changeCircle makes a tool of a change; it answers with the circles as they
// are afterwards.
func (c Config) changeCircle(change func(ctx context.Context, tx pgx.Tx, agentID, circle, userID, actor string) error) func(context.Context, gateway.BuiltinCall) (any, error) {
	return func(ctx context.Context, call gateway.BuiltinCall) (any, error) {
		var in struct {
			Circle string `json:"circle"`
			UserID string `json:"userId"`
		}
		if err := read(call, &in); err != nil {
			return nil, err
		}
		var circles []identity.Circle
		err := c.change(ctx, call, func(tx pgx.Tx) (err error) {
			if err := change(ctx, tx, call.AgentID, in.Circle, in.UserID, call.RequesterID()); err != nil {
				return err
			}
			if err := c.Approvals.DeliverOpen(ctx, tx, call.AgentID); err != nil {
				return err
			}
			circles, err = identity.Circles(ctx, tx, call.AgentID)
			return err
		})
		return map[string]any{"circles": circles}, err
	}
}
