package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

// TestWhoIsRemovedWhileTheirCallIsHeld: nothing runs, neither when the person is
// removed by a surface, which cancels what they asked, nor when their role alone is
// gone and the answer comes later; and their key opens nothing.
func TestWhoIsRemovedWhileTheirCallIsHeld(t *testing.T) {
	operator := approvals.Actor{Admin: true, Name: "the operator", Via: "test"}
	for name, remove := range map[string]func(r *rig, userID string) (status int){
		"removed": func(r *rig, userID string) int {
			r.tx(func(tx pgx.Tx) error {
				_, err := r.approvals.RemoveMember(context.Background(), tx, agentName, userID, false, operator)
				return err
			})
			return http.StatusUnauthorized
		},
		"without a role": func(r *rig, userID string) int {
			r.exec(`DELETE FROM agent_members WHERE user_id = $1`, userID)
			r.hub.Publish(identity.KeysChanged)
			return http.StatusForbidden
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{})
			gus, key := r.member("gus", policy.Guest)
			r.key = key
			session := r.client(nil).ID()
			held := r.held(session, `{'n':1}`)
			asked := r.asked(approvals.Pending)
			want := remove(r, gus.ID)
			for status := 0; status != want; {
				status, _ = r.post(map[string]string{"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
				if t.Context().Err() != nil {
					t.Fatalf("the key still opens (%d)", status)
				}
			}
			if name == "without a role" {
				r.decide(asked, true, policy.Single, "")
			}
			got := <-held
			if strings.Contains(got, "recorded") || r.ran() != nil {
				t.Errorf("ran %v: %s", r.ran(), got)
			}
			if name == "without a role" && !strings.Contains(got, "no role with agent") {
				t.Errorf("told %s", got)
			}
		})
	}
}
