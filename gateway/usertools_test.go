package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/db"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/linking"
	"holm/policy"
)

func (r *rig) as(key string) *mcp.ClientSession {
	return r.client(map[string]string{"Authorization": "Bearer " + key})
}

// people tells name, role and identities of the agent's people, as a tool does.
func people(t *testing.T, s *mcp.ClientSession) map[string]string {
	t.Helper()
	text, failed := plain(t, s, "user_list", map[string]any{})
	var got struct{ Users []identity.Member }
	if err := json.Unmarshal([]byte(text), &got); failed || err != nil {
		t.Fatalf("%s %v", text, err)
	}
	all := map[string]string{}
	for _, m := range got.Users {
		all[m.Name] = string(m.Role) + " " + strings.Join(m.Identities, " ")
	}
	return all
}

func TestOwnersManagePeopleByTools(t *testing.T) {
	r := newRig(t)
	olga, ownerKey := r.member("olga", policy.Owner)
	gus, guestKey := r.member("gus", policy.Guest)
	uma, _ := r.member("uma", policy.User)
	owner, guest := r.as(ownerKey), r.as(guestKey)
	does := func(s *mcp.ClientSession, want, tool string, args map[string]any) {
		t.Helper()
		if text, _ := plain(t, s, tool, args); !strings.Contains(text, want) {
			t.Errorf("%s %v: %s, want %q", tool, args, text, want)
		}
	}
	does(guest, "Unknown tool", "user_list", nil)
	does(owner, `"role":"user"`, "user_role_set", map[string]any{"userId": gus.ID, "role": "user"})
	does(owner, "no owner left", "user_role_set", map[string]any{"userId": olga.ID, "role": "guest"})
	does(owner, "want owner, user or guest", "user_role_set", map[string]any{"userId": gus.ID, "role": "boss"})
	does(owner, "no member", "user_role_set", map[string]any{"userId": "nobody", "role": "user"})
	does(owner, "telegram:7", "user_identity_link", map[string]any{"userId": gus.ID, "channel": "telegram", "identity": "7"})
	does(owner, "merge the two", "user_identity_link", map[string]any{"userId": uma.ID, "channel": "telegram", "identity": "7"})
	does(owner, "want a channel", "user_identity_link", map[string]any{"userId": uma.ID, "channel": "Tele gram", "identity": ""})
	does(owner, `"sourceId"`, "user_merge", map[string]any{"userId": gus.ID, "intoUserId": uma.ID})
	if diff := cmp.Diff(map[string]string{"olga": "owner x:olga", "uma": "user telegram:7 x:gus x:uma"}, people(t, owner)); diff != "" {
		t.Error(diff)
	}
	does(owner, "one person already", "user_merge", map[string]any{"userId": gus.ID, "intoUserId": uma.ID})
	does(owner, `"users"`, "user_identity_unlink", map[string]any{"userId": uma.ID, "channel": "x", "identity": "gus"})
	does(owner, `"users"`, "user_identity_unlink", map[string]any{"userId": gus.ID, "channel": "telegram", "identity": "7"})
	does(owner, "not known as", "user_identity_unlink", map[string]any{"userId": gus.ID, "channel": "telegram", "identity": "7"})
	does(owner, "could be asked", "user_identity_unlink", map[string]any{"userId": olga.ID, "channel": "x", "identity": "olga"})
	if diff := cmp.Diff(map[string]string{"olga": "owner x:olga", "uma": "user x:uma", "gus": "user x:gus"}, people(t, owner)); diff != "" {
		t.Error(diff)
	}
}

// Who becomes a reviewer by a tool is shown what waits.
func TestNewReviewersAreShownWhatWaits(t *testing.T) {
	r := newRig(t)
	_, ownerKey := r.member("olga", policy.Owner)
	gus, _ := r.member("gus", policy.Guest)
	uma, _ := r.member("uma", policy.User)
	owner := r.as(ownerKey)
	r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{
		Approvers: []policy.Grant{policy.ToRole(policy.Owner), policy.ToCircle("night")},
	}})
	call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	for want, change := range []func(){
		func() {},
		func() { plain(t, owner, "user_role_set", map[string]any{"userId": gus.ID, "role": "owner"}) },
		func() { plain(t, owner, "circle_add", map[string]any{"circle": "night", "userId": uma.ID}) },
	} {
		change()
		if got := r.cards(request.ID); got != want+1 {
			t.Errorf("%d cards, want %d", got, want+1)
		}
	}
}

// The owners of one agent gain nothing with another by saying who is who.
func TestOwnersSpeakForTheirOwnPeopleAlone(t *testing.T) {
	r := newRig(t)
	_, ownerKey := r.member("olga", policy.Owner)
	gus, _ := r.member("gus", policy.Guest)
	vip, _ := r.member("vip", policy.User)
	r.tx(func(tx pgx.Tx) error {
		if _, err := identity.CreateAgent(context.Background(), tx, "other", "test"); err != nil {
			return err
		}
		return identity.Join(context.Background(), tx, "other", vip.ID, policy.Owner, "test")
	})
	owner := r.as(ownerKey)
	for tool, args := range map[string]map[string]any{
		"user_merge":           {"userId": gus.ID, "intoUserId": vip.ID},
		"user_identity_link":   {"userId": vip.ID, "channel": "telegram", "identity": "666"},
		"user_identity_unlink": {"userId": vip.ID, "channel": "x", "identity": "vip"},
	} {
		if text, failed := plain(t, owner, tool, args); !failed || !strings.Contains(text, "other agents too") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if text, failed := plain(t, owner, "user_merge", map[string]any{"userId": vip.ID, "intoUserId": gus.ID}); !failed {
		t.Errorf("the other way round: %s", text)
	}
}

// Nor do they by saying so before their people are invited elsewhere: whoever has
// the account of an owner would be one.
func TestOwnersClaimNobodyForLater(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	_, ownerKey := r.member("olga", policy.Owner)
	gus, _ := r.member("gus", policy.Guest)
	uma, _ := r.member("uma", policy.User)
	vip, _ := r.member("vip", policy.User)
	r.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(ctx, tx, "other", "test")
		return err
	})
	owner := r.as(ownerKey)
	for tool, args := range map[string]map[string]any{
		"user_identity_link": {"userId": gus.ID, "channel": "telegram", "identity": "777"},
		"user_merge":         {"userId": vip.ID, "intoUserId": uma.ID},
	} {
		if text, failed := plain(t, owner, tool, args); failed {
			t.Fatalf("%s: %s", tool, text)
		}
	}
	invite := func(agent string) (token string) {
		r.tx(func(tx pgx.Tx) (err error) {
			token, err = identity.CreateInvite(ctx, tx, agent, policy.Owner, "test")
			return err
		})
		return token
	}
	redeem := func(token, channel, who string) error {
		return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
			_, err := identity.Redeem(ctx, tx, token, identity.Address{Channel: channel, Identity: who}, who)
			return err
		})
	}
	first, second := invite("other"), invite("other")
	for token, a := range map[string]identity.Address{first: {Channel: "telegram", Identity: "777"}, second: {Channel: "x", Identity: "vip"}} {
		if err := redeem(token, a.Channel, a.Identity); !fault.Is(err, "claimed_person") {
			t.Errorf("%s is made an owner elsewhere: %v", a, err)
		}
	}
	if err := redeem(invite(agentName), "telegram", "777"); err != nil {
		t.Errorf("with their own agent: %v", err)
	}
	r.tx(func(tx pgx.Tx) error { // the operator looks into it
		if _, err := identity.UndoMerge(ctx, tx, 1, "admin"); err != nil {
			return err
		}
		if err := identity.AddIdentity(ctx, tx, gus.ID, identity.Address{Channel: "telegram", Identity: "777"}, "", "admin"); err != nil {
			return err
		}
		var told int
		err := tx.QueryRow(ctx, `SELECT count(*) FROM audit_queue WHERE kind = 'identity_confirmed'`).Scan(&told)
		if told != 1 {
			t.Errorf("%d records of the confirmation", told)
		}
		return err
	})
	for token, a := range map[string]identity.Address{first: {Channel: "telegram", Identity: "777"}, second: {Channel: "x", Identity: "vip"}} {
		if err := redeem(token, a.Channel, a.Identity); err != nil {
			t.Errorf("%s afterwards, with the invitation they were refused: %v", a, err)
		}
	}
}

// A tool begins a link and presents its token; it answers for nobody.
func TestToolsOnlyBeginALink(t *testing.T) {
	r := newRig(t)
	_, olgaKey := r.member("olga", policy.Owner)
	_, gusKey := r.member("gus", policy.Guest)
	text, failed := plain(t, r.as(olgaKey), "identity_link_request", map[string]any{})
	var asked struct{ Token string }
	if err := json.Unmarshal([]byte(text), &asked); failed || err != nil || asked.Token == "" {
		t.Fatalf("%s %v", text, err)
	}
	for _, c := range []struct{ who, key, token, want string }{
		{"olga herself", olgaKey, asked.Token, "your own"},
		{"a wrong token", gusKey, "x", "not valid"},
		{"gus", gusKey, asked.Token, `"presented"`},
		{"gus again", gusKey, asked.Token, `"presented"`},
		{"olga afterwards", olgaKey, asked.Token, "not valid"},
	} {
		if text, _ := plain(t, r.as(c.key), "identity_link_confirm", map[string]any{"token": c.token}); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %q", c.who, text, c.want)
		}
	}
	for _, tool := range []string{"identity_link_request", "identity_link_confirm"} {
		if text, _ := plain(t, r.client(nil), tool, map[string]any{"token": "x"}); !strings.Contains(text, "acts for no person") && tool == "identity_link_confirm" {
			t.Errorf("%s with a bare key: %s", tool, text)
		}
	}
	var merges, questions int
	ctx := context.Background()
	if err := r.pool.QueryRow(ctx, `SELECT count(*) FROM user_merges`).Scan(&merges); err != nil || merges != 0 {
		t.Errorf("%d merges, error %v", merges, err)
	}
	if err := r.pool.QueryRow(ctx, `SELECT count(*) FROM river.river_job WHERE kind = 'link_question'`).Scan(&questions); err != nil || questions != 2 {
		t.Errorf("%d people are asked, error %v", questions, err)
	}
}

// TestWhoJoinsElsewhereMeanwhileIsNotSpokenFor: a role with another agent and the
// word of an owner come at the same time. Whichever is first, the other sees it.
func TestWhoJoinsElsewhereMeanwhileIsNotSpokenFor(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	_, ownerKey := r.member("olga", policy.Owner)
	gus, _ := r.member("gus", policy.Guest)
	vip, _ := r.member("vip", policy.User)
	r.tx(func(tx pgx.Tx) error {
		_, err := identity.CreateAgent(ctx, tx, "other", "test")
		return err
	})
	owner := r.as(ownerKey)
	join := func(tx pgx.Tx) error { return identity.Join(ctx, tx, "other", vip.ID, policy.Owner, "test") }
	var first atomic.Bool
	t.Run("the word is first", func(t *testing.T) {
		done := make(chan error, 1)
		r.tx(func(tx pgx.Tx) error {
			if err := linking.New(r.approvals).AddIdentity(ctx, tx, vip.ID, identity.Address{Channel: "telegram", Identity: "666"}, agentName, "test"); err != nil {
				return err
			}
			go func() { done <- db.InTx(ctx, r.pool, join); first.Store(true) }()
			r.blockedOr(&first)
			return nil
		})
		if err := <-done; !fault.Is(err, "claimed_person") {
			t.Errorf("joined: %v", err)
		}
	})
	t.Run("the role is first", func(t *testing.T) {
		r.tx(func(tx pgx.Tx) error {
			return identity.RemoveIdentity(ctx, tx, vip.ID, identity.Address{Channel: "telegram", Identity: "666"}, false, "test")
		})
		first.Store(false)
		done := make(chan string, 1)
		r.tx(func(tx pgx.Tx) error {
			if err := join(tx); err != nil {
				return err
			}
			go func() {
				text, _ := plain(t, owner, "user_merge", map[string]any{"userId": gus.ID, "intoUserId": vip.ID})
				done <- text
				first.Store(true)
			}()
			r.blockedOr(&first)
			return nil
		})
		if text := <-done; !strings.Contains(text, "other agents too") {
			t.Errorf("merged: %s", text)
		}
	})
}

// blockedOr waits until somebody waits for a lock, or done.
func (r *rig) blockedOr(done *atomic.Bool) {
	r.t.Helper()
	for deadline, waits := time.Now().Add(time.Minute), false; !waits && !done.Load(); time.Sleep(5 * time.Millisecond) {
		err := r.pool.QueryRow(context.Background(), `
			SELECT EXISTS (
			    SELECT 1
			    FROM pg_stat_activity
			    WHERE datname = current_database()
			      AND wait_event_type = 'Lock'
			)`).Scan(&waits)
		if err != nil || time.Now().After(deadline) {
			r.t.Fatalf("nobody waits: %v", err)
		}
	}
}
