package builtin

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/db"
	"holm/internal/identity"
	"holm/internal/linking"
)

func userTools(c Config) []gateway.Builtin {
	user := `"userId":{"type":"string"}`
	force := `"force":{"type":"boolean","default":false,"description":"also when the agent has no owner left then"}`
	who := `"channel":{"type":"string","description":"such as telegram"},"identity":{"type":"string","description":"who it is there, such as 123456"}`
	return []gateway.Builtin{{
		Name: "user_list", Description: "List the people of this agent with roles and identities.",
		Schema: schema(`{}`), Run: c.listUsers,
	}, {
		Name: "user_role_set", Governs: true, Description: "Change the role of somebody with this agent. What they approved and may not approve any more ends for good; the result says what ended, and what stands.",
		Schema: schema(`{`+user+`,"role":{"type":"string","enum":["owner","user","guest"]},`+force+`}`, "userId", "role"),
		Run:    c.setUserRole,
	}, {
		Name: "user_merge", Governs: true, Description: "Make a user the same person as another, who lives on with what both had. Both are told, and may undo it within a day.",
		Schema: schema(`{`+user+`,"intoUserId":{"type":"string"}}`, "userId", "intoUserId"), Run: c.mergeUsers,
	}, {
		Name: "user_identity_link", Governs: true, Description: "Let whoever has an identity on a channel be this user.",
		Schema: schema(`{`+user+`,`+who+`}`, "userId", "channel", "identity"), Run: c.linkIdentity,
	}, {
		Name: "user_identity_unlink", Governs: true, Description: "Take an identity from a user; one that came by a merge undoes the merge.",
		Schema: schema(`{`+user+`,`+who+`,`+force+`}`, "userId", "channel", "identity"), Run: c.unlinkIdentity,
	}}
}

func (c Config) listUsers(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	if err := read(call, &struct{}{}); err != nil {
		return nil, err
	}
	return c.users(ctx, c.Pool, call)
}

// users are the people of the agent as they are now.
func (c Config) users(ctx context.Context, q db.Queryer, call gateway.BuiltinCall) (any, error) {
	members, err := c.members(ctx, q, call)
	return map[string]any{"users": members}, err
}

func (c Config) members(ctx context.Context, q db.Queryer, call gateway.BuiltinCall) ([]identity.Member, error) {
	members, err := identity.Members(ctx, q, call.AgentID)
	return append([]identity.Member{}, members...), err
}

func (c Config) setUserRole(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		UserID string `json:"userId"`
		Role   string `json:"role"`
		Force  bool   `json:"force"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	role, err := identity.CheckRole(in.Role)
	if err != nil {
		return nil, err
	}
	actor, err := c.actor(ctx, call)
	if err != nil {
		return nil, err
	}
	var endings approvals.Endings
	err = c.change(ctx, call, func(tx pgx.Tx) (err error) {
		endings, err = c.Approvals.SetRole(ctx, tx, call.AgentID, in.UserID, role, in.Force, actor)
		return err
	})
	if err != nil {
		return nil, err
	}
	members, err := c.members(ctx, c.Pool, call)
	return map[string]any{"users": members, "endings": endings}, err
}

func (c Config) mergeUsers(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		UserID     string `json:"userId"`
		IntoUserID string `json:"intoUserId"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	merge, err := linking.New(c.Approvals).Merge(ctx, in.UserID, in.IntoUserID, call.AgentID, call.RequesterID())
	return map[string]any{"merge": merge}, err
}

// identityArgs name an identity of a user.
type identityArgs struct {
	UserID   string `json:"userId"`
	Channel  string `json:"channel"`
	Identity string `json:"identity"`
	Force    bool   `json:"force"`
}

func readIdentity(call gateway.BuiltinCall) (in identityArgs, a identity.Address, err error) {
	if err := read(call, &in); err != nil {
		return in, a, err
	}
	a, err = identity.ParseAddress(in.Channel + ":" + in.Identity)
	return in, a, err
}

func (c Config) linkIdentity(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	in, address, err := readIdentity(call)
	if err != nil {
		return nil, err
	}
	err = c.change(ctx, call, func(tx pgx.Tx) error {
		return linking.New(c.Approvals).AddIdentity(ctx, tx, in.UserID, address, call.AgentID, call.RequesterID())
	})
	if err != nil {
		return nil, err
	}
	return c.users(ctx, c.Pool, call)
}

func (c Config) unlinkIdentity(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	in, address, err := readIdentity(call)
	if err != nil {
		return nil, err
	}
	err = linking.New(c.Approvals).Unlink(ctx, call.AgentID, in.UserID, address, in.Force, call.RequesterID())
	if err != nil {
		return nil, err
	}
	return c.users(ctx, c.Pool, call)
}
