package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"holm/internal/identity"
	"holm/policy"
)

func TestTheOperatorMergesAndParts(t *testing.T) {
	w := start(t)
	w.agent("main")
	una := w.person(identity.Address{Channel: "matrix", Identity: "@una"}, "main", policy.User)
	gus := w.person(identity.Address{Channel: "slack", Identity: "T01/U02"}, "main", policy.Guest)
	bound := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+gus.ID+`"}`).is(201).field("key")
	asked := w.ask("main", una.ID, `{"a":1}`)
	w.as(bound, "GET", "/api/agents/main/approvals/"+asked.ID, "").is(404)

	var m identity.Merge
	w.admin("POST", "/api/users/"+una.ID+"/merge", `{"into":"slack:T01/U02"}`).is(200).into(&m)
	if m.SourceID != una.ID || m.TargetID != gus.ID {
		t.Errorf("merge %+v", m)
	}
	// The other's requests and sessions are theirs: on the list, one by one, to follow.
	w.as(bound, "GET", "/api/agents/main/approvals/"+asked.ID, "").is(200)
	if got := w.as(bound, "GET", "/api/agents/main/approvals?requester="+una.ID, "").is(200).requests(); len(got) != 1 {
		t.Errorf("lists %v", got)
	}
	w.as(bound, "GET", "/api/agents/main/sessions/"+segment(asked.SessionID)+"/events?follow=false", "").is(200)
	var p identity.Profile
	w.admin("GET", "/api/users/matrix:@una", "").is(200).into(&p)
	if p.ID != gus.ID || strings.Join(p.Identities, " ") != "matrix:@una slack:T01/U02" || len(p.Roles) != 1 || p.Roles[0].Role != policy.User || len(p.Merges) != 1 {
		t.Errorf("profile %+v", p)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/api/users/" + una.ID + "/merge", `{"into":"` + gus.ID + `"}`, 409, "same_person"},
		{"POST", "/api/users/nobody/merge", `{"into":"` + gus.ID + `"}`, 404, "not_found"},
		{"POST", "/api/users/" + gus.ID + "/merge", `{"into":"slack:T01/U99"}`, 404, "not_found"},
		{"POST", "/api/users/" + gus.ID + "/merge", `{}`, 422, ""},
		{"DELETE", "/api/users/" + gus.ID + "/identities/matrix:@una", "", 409, "came_by_merge"},
		{"DELETE", "/api/merges/0", "", 422, ""},
		{"DELETE", "/api/merges/99", "", 404, "not_found"},
		{"GET", "/api/users/%00", "", 422, ""},
	} {
		got := w.admin(c.method, c.path, c.body)
		if c.path == "/api/users/%00" {
			if got.status == 500 {
				t.Errorf("%s: %s", c.path, got.body)
			}
			continue
		}
		if c.code == "" {
			got.is(c.status)
			continue
		}
		got.is(c.status, c.code)
	}
	w.admin("DELETE", fmt.Sprintf("/api/merges/%d", m.Number), "").is(200)
	w.admin("DELETE", fmt.Sprintf("/api/merges/%d", m.Number), "").is(409, "undone_already")
	w.as(bound, "GET", "/api/agents/main/approvals/"+asked.ID, "").is(404)
}

func TestTheOperatorSaysWhoIsWho(t *testing.T) {
	w := start(t)
	w.agent("main")
	olga := w.person(identity.Address{Channel: "matrix", Identity: "@olga"}, "main", policy.Owner)
	una := w.person(identity.Address{Channel: "matrix", Identity: "@una"}, "main", policy.User)
	at := "/api/users/" + olga.ID + "/identities/"
	for range 2 {
		w.admin("PUT", at+"telegram:7", "").is(204)
	}
	w.admin("PUT", "/api/users/"+una.ID+"/identities/telegram:7", "").is(409, "identity_taken")
	w.admin("PUT", at+"nonsense", "").is(422, "invalid")
	w.admin("DELETE", at+"matrix:@olga", "").is(204)
	w.admin("DELETE", at+"matrix:@olga", "").is(404, "not_found")
	w.admin("DELETE", at+"telegram:7", "").is(409, "last_owner")
	w.admin("DELETE", at+"telegram:7?force=true", "").is(204)
	w.admin("PATCH", "/api/agents/main/members/"+olga.ID, `{"role":"user"}`).is(409, "last_owner")
	w.admin("PATCH", "/api/agents/main/members/"+olga.ID, `{"role":"user","force":true}`).is(200)
}
