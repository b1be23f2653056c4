package httpapi_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

func (a answer) requests() (ids []string) {
	a.t.Helper()
	var list []approvals.Wire
	a.into(&list)
	for _, w := range list {
		ids = append(ids, w.ID)
	}
	return ids
}

func TestARequesterSeesTheirOwn(t *testing.T) {
	w := start(t)
	bare := w.agent("main")
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.User)
	bound := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+user.ID+`"}`).is(201).field("key")
	own, foreign := w.ask("main", user.ID, `{"a":1}`), w.ask("main", "agent:main", `{"a":2}`)
	for _, c := range []struct{ token, own, foreign string }{{bound, own.ID, foreign.ID}, {bare, foreign.ID, own.ID}} {
		if got := w.as(c.token, "GET", "/api/agents/main/approvals", "").is(200).requests(); len(got) != 1 || got[0] != c.own {
			t.Errorf("got %v", got)
		}
		w.as(c.token, "GET", "/api/agents/main/approvals/"+c.own, "").is(200)
		hidden := w.as(c.token, "GET", "/api/agents/main/approvals/"+c.foreign, "").is(404, "not_found")
		unknown := w.as(c.token, "GET", "/api/agents/main/approvals/none", "").is(404, "not_found")
		if strings.Replace(hidden.body, c.foreign, "none", 1) != unknown.body {
			t.Errorf("%s and %s differ", hidden.body, unknown.body)
		}
	}
	if got := w.as(bound, "GET", "/api/agents/main/approvals?requester=agent:main", "").is(200).requests(); len(got) != 0 {
		t.Errorf("the filter shows %v", got)
	}
	number := fmt.Sprintf("/api/agents/main/approvals/by-short/%d", foreign.ShortID)
	w.as(bound, "GET", number, "").is(404, "not_found")
	w.as(bare, "GET", number, "").is(200)
}

func TestSessionsAreTheirRequesters(t *testing.T) {
	w := start(t)
	bare := w.agent("main")
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.User)
	bound := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+user.ID+`"}`).is(201).field("key")
	own, foreign := w.ask("main", user.ID, `{}`), w.ask("main", "agent:main", `{}`)
	for token, want := range map[string]int{bound: 1, bare: 1, adminToken: 2} {
		var list []session.Session
		w.as(token, "GET", "/api/agents/main/sessions", "").is(200).into(&list)
		if len(list) != want {
			t.Errorf("sees %d sessions, want %d", len(list), want)
		}
	}
	path := "/api/agents/main/sessions/"
	w.as(bound, "GET", path+segment(own.SessionID), "").is(200)
	w.as(bound, "GET", path+segment(foreign.SessionID), "").is(404, "not_found")
	w.as(bound, "GET", path+segment(foreign.SessionID)+"/events", "").is(404, "not_found")
	w.as(bound, "GET", path+segment(own.SessionID)+"/events?follow=false", "").is(200)
	w.admin("GET", path+segment(foreign.SessionID), "").is(200)
}

var nextPage = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

func TestPages(t *testing.T) {
	w := start(t)
	w.agent("main")
	var want []string
	for i := range 5 {
		want = append([]string{w.ask("main", "agent:main", fmt.Sprintf(`{"i":%d}`, i)).ID}, want...)
	}
	var got []string
	path := "/api/agents/main/approvals?limit=2&status=pending&requester=agent:main"
	for range 4 {
		page := w.admin("GET", path, "").is(200)
		got = append(got, page.requests()...)
		link := nextPage.FindStringSubmatch(page.header.Get("Link"))
		if link == nil {
			break
		}
		path = link[1]
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=many", "status=open", "stauts=pending"} {
		w.admin("GET", "/api/agents/main/approvals?"+query, "").is(422)
	}
	w.admin("POST", "/api/agents/main/approvals/"+want[0]+"/review", `{"decision":"rejected"}`).is(200)
	if open := w.admin("GET", "/api/agents/main/approvals?status=pending", "").is(200).requests(); len(open) != 4 {
		t.Errorf("%d pending, want 4", len(open))
	}
}

func TestAQuestionStandsForAllThatShareIt(t *testing.T) {
	w := start(t)
	w.agent("main")
	q := w.ask("main", "agent:main", `{"i":1}`)
	second := w.askAgain(q)
	if got := w.admin("GET", "/api/agents/main/approvals?status=pending", "").is(200).requests(); len(got) != 1 || got[0] != q.ID {
		t.Errorf("listed %v", got)
	}
	page := w.admin("GET", "/api/agents/main/approvals?duplicates=true&limit=1", "").is(200)
	link := nextPage.FindStringSubmatch(page.header.Get("Link"))
	if got := page.requests(); len(got) != 1 || got[0] != second.ID || link == nil || !strings.Contains(link[1], "duplicates=true") {
		t.Errorf("with duplicates: %v, next %v", got, link)
	}
}
