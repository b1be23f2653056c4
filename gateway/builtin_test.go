package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

// member makes a user with a role and a key bound to it.
func (r *rig) member(name string, role policy.Role) (user identity.User, key string) {
	r.t.Helper()
	ctx := context.Background()
	r.tx(func(tx pgx.Tx) (err error) {
		if user, err = identity.EnsureUser(ctx, tx, identity.Address{Channel: "x", Identity: name}, name); err != nil {
			return err
		}
		if err := identity.Join(ctx, tx, agentName, user.ID, role, "test"); err != nil {
			return err
		}
		key, err = identity.CreateKey(ctx, tx, agentName, user.ID, nil, "test")
		return err
	})
	return user, key
}

func tools(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// plain calls a tool by its whole name.
func plain(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

func TestOwnersManagePolicyByTools(t *testing.T) {
	r := newRig(t)
	_, ownerKey := r.member("olga", policy.Owner)
	guest, guestKey := r.member("gus", policy.Guest)
	owner := r.client(map[string]string{"Authorization": "Bearer " + ownerKey})
	visitor := r.client(map[string]string{"Authorization": "Bearer " + guestKey})

	want := []string{"approval_cancel", "approval_list", "approval_review", "approval_status", "approval_wait", "circle_add", "circle_delete", "circle_list", "circle_remove",
		"identity_link_confirm", "identity_link_request", "policy_delete", "policy_list", "policy_set", "session_list", "session_read", "session_send",
		"user_identity_link", "user_identity_unlink", "user_list", "user_merge", "user_role_set"}
	if diff := cmp.Diff(want, tools(t, owner)); diff != "" {
		t.Error(diff)
	}
	everybody := []string{"approval_cancel", "approval_status", "approval_wait", "identity_link_confirm", "identity_link_request"}
	if diff := cmp.Diff(everybody, tools(t, visitor)); diff != "" {
		t.Errorf("a guest sees %s", diff)
	}
	if text, failed := plain(t, visitor, "policy_set", map[string]any{}); !failed || !strings.Contains(text, `Unknown tool: "policy_set"`) {
		t.Errorf("a guest's policy_set: %s", text)
	}

	// A row for a circle, written by a tool, holds with the next call.
	if text, failed := plain(t, owner, "policy_set", map[string]any{
		"resourceType": "tool", "resourceKey": "mcp__fix__echo", "effect": "allow",
		"grants": []any{map[string]any{"type": "circle", "value": "friends"}},
	}); failed {
		t.Fatal(text)
	}
	if diff := cmp.Diff(everybody, tools(t, visitor)); diff != "" {
		t.Errorf("a guest outside the circle sees %s", diff)
	}
	if text, failed := plain(t, owner, "circle_add", map[string]any{"circle": "friends", "userId": guest.ID}); failed || !strings.Contains(text, "gus") {
		t.Fatal(text)
	}
	if diff := cmp.Diff(append(slices.Clone(everybody), "mcp__fix__echo"), tools(t, visitor)); diff != "" {
		t.Error(diff)
	}
	if text, failed := plain(t, owner, "policy_delete", map[string]any{"resourceKey": "mcp__fix__echo", "force": true}); failed {
		t.Fatal(text)
	}
	if diff := cmp.Diff(everybody, tools(t, visitor)); diff != "" {
		t.Errorf("after the deletion a guest sees %s", diff)
	}

	for name, args := range map[string]map[string]any{
		"invalid_policy": {"resourceType": "tool", "resourceKey": "x", "effect": "maybe", "grants": []any{}},
		"invalid":        {"resourceType": "tool", "resourceKey": "x", "effect": "allow", "grants": []any{}, "extra": 1},
	} {
		if text, failed := plain(t, owner, "policy_set", args); !failed {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestBuiltinToolsWaitForApprovalLikeOthers gates a tool of Holm's own.
func TestBuiltinToolsWaitForApprovalLikeOthers(t *testing.T) {
	r := newRig(t)
	_, key := r.member("uma", policy.User)
	r.put(policy.Row{
		ResourceType: policy.TypeTool, ResourceKey: "circle_list",
		Effect: policy.RequireApproval, Grants: []policy.Grant{policy.ToRole(policy.User)},
	})
	session := r.client(map[string]string{"Authorization": "Bearer " + key})
	done := make(chan string, 1)
	go func() {
		text, _ := plain(t, session, "circle_list", map[string]any{})
		done <- text
	}()
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	if got := <-done; got != `{"circles":[]}` {
		t.Errorf("got %s", got)
	}
}

// TestArgumentsAreNamedAsTheyWereGiven: nothing of Holm's own language is told.
func TestArgumentsAreNamedAsTheyWereGiven(t *testing.T) {
	r := newRig(t)
	_, key := r.member("olga", policy.Owner)
	owner := r.client(map[string]string{"Authorization": "Bearer " + key})
	for args, want := range map[string]map[string]any{
		"arguments: resourceKey: a JSON number is none of the values that it takes": {"resourceKey": 7},
		`arguments: there is no argument "resourcekye"`:                             {"resourcekye": "x"},
	} {
		text, failed := plain(t, owner, "policy_delete", want)
		if !failed || text != args {
			t.Errorf("%v: %s, want %s", want, text, args)
		}
	}
}
