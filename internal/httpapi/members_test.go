package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holm/approvals"
	"holm/internal/httpapi"
	"holm/internal/identity"
	"holm/policy"
)

// bound makes somebody with a role and a key that is bound to them.
func (w *world) bound(name string, role policy.Role) (identity.User, string) {
	w.t.Helper()
	user := w.person(identity.Address{Channel: "matrix", Identity: "@" + name}, "main", role)
	return user, w.admin("POST", "/api/agents/main/keys", `{"userId":"`+user.ID+`"}`).is(201).field("key")
}

// TestWhoIsRemovedKeepsNothing: the key, what was approved for them, their open
// question and the grant by name end for good, and each is told; what they
// approved for others for good stands, and is told too.
func TestWhoIsRemovedKeepsNothing(t *testing.T) {
	w := start(t, func(c *httpapi.Config) { c.Heartbeat = 50 * time.Millisecond })
	w.agent("main")
	gus, key := w.bound("gus", policy.Owner)
	eve, _ := w.bound("eve", policy.Guest)
	always, open := w.ask("main", gus.ID, `{"n":1}`), w.ask("main", gus.ID, `{"n":2}`)
	w.admin("POST", reviewPath(always), `{"decision":"approved","resolution":"persistent"}`).is(200)
	given, unused := w.ask("main", eve.ID, `{"n":3}`), w.ask("main", eve.ID, `{"n":4}`)
	by := approvals.Actor{UserID: gus.ID, Name: "Gus", Via: "matrix"}
	for r, resolution := range map[string]policy.Resolution{given.ID: policy.Persistent, unused.ID: policy.Single} {
		if _, err := w.approvals.Decide(t.Context(), approvals.Decision{AgentID: "main", RequestID: r, Approve: true, Resolution: resolution, Actor: by}); err != nil {
			t.Fatal(err)
		}
	}
	w.setPolicy(fmt.Sprintf(`{"resourceType":"tool","resourceKey":"mcp__git__log","effect":"allow","grants":[{"type":"user","value":%q}]}`, gus.ID))
	w.setPolicy(fmt.Sprintf(`{"resourceType":"tool","resourceKey":"mcp__git__log","effect":"deny","grants":[{"type":"user","value":%q}],"force":true}`, gus.ID))
	stream := w.follow(key, "/api/agents/main/sessions/"+always.SessionID+"/events")

	var e approvals.Endings
	w.admin("DELETE", "/api/agents/main/members/"+gus.ID+"?force=true", "").is(200).into(&e)
	if len(e.Keys) != 1 || !strings.Contains(key, e.Keys[0]) {
		t.Errorf("keys %v", e.Keys)
	}
	if len(e.Approvals) != 2 || e.Approvals[0].ID != always.ID || e.Approvals[1].ID != unused.ID {
		t.Errorf("approvals %+v", e.Approvals)
	}
	if len(e.Requests) != 1 || e.Requests[0].ShortID != open.ShortID {
		t.Errorf("requests %+v", e.Requests)
	}
	if len(e.Rules) != 1 || string(e.Rules[0].Grants) != "[]" || e.Rules[0].Effect != policy.Allow {
		t.Errorf("rules %+v", e.Rules)
	}
	if len(e.Stands) != 1 || e.Stands[0].ID != given.ID {
		t.Errorf("stands %+v", e.Stands)
	}
	text := strings.Join(e.Lines("holm approvals revoke main"), "\n")
	if !strings.Contains(text, fmt.Sprintf("To end it: holm approvals revoke main %d", given.ShortID)) {
		t.Errorf("told: %s", text)
	}
	w.ends(key)
	for stream.next() != nil { // it ends
	}

	// Back again, they begin anew.
	w.person(identity.Address{Channel: "matrix", Identity: "@gus"}, "main", policy.Owner)
	w.as(key, "GET", "/api/agents/main/sessions", "").is(401, "invalid_key")
	var left []approvals.Grant
	w.admin("GET", "/api/agents/main/grants", "").is(200).into(&left)
	if len(left) != 1 || left[0].ID != given.ID {
		t.Errorf("left %+v", left)
	}
	for _, r := range []approvals.Request{always, unused} {
		if _, ok, err := w.approvals.Claim(t.Context(), r, w.again(r)); err != nil || ok {
			t.Errorf("request %d lets its call through (%v)", r.ShortID, err)
		}
	}
}

// TestAKeyOfNobodyIsRefused: a key is of use while its person has a role with the
// agent, in whatever way that ends, and is made for nobody else.
func TestAKeyOfNobodyIsRefused(t *testing.T) {
	w := start(t)
	w.agent("main")
	una, key := w.bound("una", policy.User)
	w.as(key, "GET", "/api/agents/main/sessions", "").is(200)
	if _, err := w.pool.Exec(t.Context(), `DELETE FROM agent_members WHERE user_id = $1`, una.ID); err != nil {
		t.Fatal(err)
	}
	w.approvals.Hub.Publish(identity.KeysChanged)
	w.refused(key, 403)
	for _, call := range [][3]string{
		{"GET", "/api/agents/main/sessions", ""}, {"GET", "/api/agents/main/approvals", ""},
		{"POST", "/api/agents/main/access/enforce", `{"resource":{"type":"tool","key":"x"}}`},
		{"GET", "/api/agents/main/events?follow=false", ""},
	} {
		got := w.as(key, call[0], call[1], call[2]).is(403, "no_role")
		if !strings.Contains(got.body, "no role with agent") {
			t.Errorf("told %s", got.body)
		}
	}
	w.admin("POST", "/api/agents/main/keys", `{"userId":"`+una.ID+`"}`).is(404, "not_found")
}

// TestALoweredRoleGivesNothingBack: what somebody had approved and may not approve
// any more ends; their role of before does not bring it back.
func TestALoweredRoleGivesNothingBack(t *testing.T) {
	w := start(t)
	w.agent("main")
	gus, key := w.bound("gus", policy.Owner)
	eve, _ := w.bound("eve", policy.Guest)
	r := w.ask("main", eve.ID, `{"n":1}`)
	by := approvals.Actor{UserID: gus.ID, Name: "Gus", Via: "matrix"}
	if _, err := w.approvals.Decide(t.Context(), approvals.Decision{AgentID: "main", RequestID: r.ID, Approve: true, Resolution: policy.Once, Actor: by}); err != nil {
		t.Fatal(err)
	}
	at := "/api/agents/main/members/" + gus.ID
	var e approvals.Endings
	w.admin("PATCH", at, `{"role":"guest","force":true}`).is(200).into(&e)
	if len(e.Approvals) != 1 || e.Approvals[0].ID != r.ID || len(e.Keys) != 0 {
		t.Errorf("ended %+v", e)
	}
	w.admin("PATCH", at, `{"role":"owner"}`).is(200).into(&e)
	if _, ok, err := w.approvals.Claim(t.Context(), r, w.again(r)); err != nil || ok {
		t.Errorf("it lets the call through again (%v)", err)
	}
	if got := strings.TrimSpace(w.admin("GET", "/api/agents/main/grants", "").is(200).body); got != "[]" {
		t.Errorf("grants %s", got)
	}
	w.as(key, "GET", "/api/agents/main/sessions", "").is(200)
}

// TestADeletedCircleGrantsNothingLater: rows that allow to it do so no more when
// another circle has its name; those that deny or ask stay, and are told then.
func TestADeletedCircleGrantsNothingLater(t *testing.T) {
	w := start(t)
	w.agent("main")
	gus, _ := w.bound("gus", policy.Guest)
	member := "/api/agents/main/circles/ops/members/" + gus.ID
	w.admin("PUT", member, "").is(200)
	w.setPolicy(`{"resourceType":"tool","resourceKey":"mcp__git__log","effect":"allow","grants":[{"type":"circle","value":"ops"},{"type":"role","value":"owner"}]}`)
	w.setPolicy(`{"resourceType":"tool","resourceKey":"mcp__git__push","effect":"deny","grants":[{"type":"circle","value":"ops"}]}`)
	var e approvals.Endings
	w.admin("DELETE", "/api/agents/main/circles/ops", "").is(200).into(&e)
	if len(e.Rules) != 1 || string(e.Rules[0].Grants) != `[{"type":"role","value":"owner"}]` {
		t.Errorf("rules %+v", e.Rules)
	}
	var joined struct {
		Rules []struct{ ResourceKey string }
	}
	w.admin("PUT", member, "").is(200).into(&joined)
	if len(joined.Rules) != 1 || joined.Rules[0].ResourceKey != "mcp__git__push" {
		t.Errorf("told %+v", joined)
	}
}
