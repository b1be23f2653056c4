package builtin

import (
	"context"
	"time"

	"holm/gateway"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/linking"
)

func linkTools(c Config) []gateway.Builtin {
	return []gateway.Builtin{{
		Name: "identity_link_request", Description: "Begin to link another account of the person you act for. Gives a one-time token, good for 10 minutes, that the person sends to the bot from the other account " +
			"(link TOKEN). Both accounts are then asked in their own chats. Give the token to that person alone.",
		Schema: schema(`{}`), Run: c.requestLink,
	}, {
		Name: "identity_link_confirm", Description: "Present the token of identity_link_request for the person you act for. Nothing is linked by this: both accounts are asked in their own chats.",
		Schema: schema(`{"token":{"type":"string"}}`, "token"), Run: c.confirmLink,
	}}
}

var errNobody = fault.New(fault.Invalid, "no_person", "this key acts for no person; a key that is bound to a user can link accounts")

func (c Config) requestLink(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	if err := read(call, &struct{}{}); err != nil {
		return nil, err
	}
	if call.UserID == "" {
		return nil, errNobody
	}
	token, err := linking.New(c.Approvals).Request(ctx, call.AgentID, linking.Side{UserID: call.UserID})
	return map[string]any{
		"token": token, "expiresAt": time.Now().Add(linking.TTL).UTC().Truncate(time.Second),
		"next": "From the other account the person sends the bot: link TOKEN. Both accounts are then asked in their own chats.",
	}, err
}

func (c Config) confirmLink(ctx context.Context, call gateway.BuiltinCall) (any, error) {
	var in struct {
		Token string `json:"token"`
	}
	if err := read(call, &in); err != nil {
		return nil, err
	}
	if call.UserID == "" {
		return nil, errNobody
	}
	// A user has no channel here; tries are counted for the user.
	who := identity.Address{Channel: "user", Identity: call.UserID}
	var d linking.Dialog
	err := identity.Try(ctx, c.Pool, who, func() (err error) {
		d, err = linking.New(c.Approvals).Present(ctx, in.Token, linking.Side{UserID: call.UserID}, "")
		return err
	})
	return map[string]any{"state": d.State, "expiresAt": d.ExpiresAt,
		"next": "Both accounts are asked in their own chats, and are linked when both say yes."}, err
}
