package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holm/approvals"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// pending gives the next event of the wire alone, over all others.
func (r *reader) pending() (e session.Event, p approvals.PendingEvent) {
	r.t.Helper()
	for block := r.next(); block != nil; block = r.next() {
		if len(block) != 2 {
			continue
		}
		data, _ := strings.CutPrefix(block[1], "data: ")
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			r.t.Fatalf("%v in %q", err, block)
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil || block[0] != "event: approval_pending" || strings.Contains(data, `"id":`) {
			r.t.Fatalf("%v, block %q", err, block)
		}
		return e, p
	}
	r.t.Fatal("the stream ended")
	return e, p
}

func TestOwnersAreToldOfOpenQuestions(t *testing.T) {
	e := startExternal(t)
	stream := e.follow(e.token, "/api/agents/main/events", "X-Channel-User-Id", "@owner")
	// At first those that are open.
	for _, r := range []approvals.Request{e.request, e.other} {
		event, p := stream.pending()
		if p.RequestID != r.ID || p.ShortID != r.ShortID || p.Mode != "async" || !p.ExpiresAt.Equal(r.ExpiresAt) || event.SessionID != r.SessionID ||
			p.RequesterID != "agent:main" || string(p.Args) != string(r.Shown()) || len(p.Resolutions) != 3 || p.TTLMinutes != 60 || p.Rule == "" {
			t.Errorf("%+v in %+v", p, event)
		}
	}
	// Then those that come, each once, and none of another agent.
	e.agent("elsewhere")
	e.ask("elsewhere", "agent:elsewhere", `{}`)
	e.decide(e.request)
	live := e.ask("main", "agent:main", `{"live":true}`)
	if _, p := stream.pending(); p.RequestID != live.ID {
		t.Errorf("got %+v", p)
	}
	// Whoever comes back is told what is open now, after what they missed.
	again := e.follow(e.token, "/api/agents/main/events", "X-Channel-User-Id", "@owner", "Last-Event-ID", "1")
	for _, id := range []string{e.other.ID, live.ID} {
		if _, p := again.pending(); p.RequestID != id {
			t.Errorf("got %+v, want %s", p, id)
		}
	}
}

// TestNobodyElseIsToldOfOpenQuestions: neither the requester's own stream nor
// one that ends carries them.
func TestNobodyElseIsToldOfOpenQuestions(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	w.person(identity.Address{Channel: "matrix", Identity: "@owner"}, "main", policy.Owner)
	r := w.ask("main", "agent:main", `{}`)
	for token, path := range map[string]string{
		key:        "/api/agents/main/sessions/" + segment(r.SessionID) + "/events?follow=false",
		adminToken: "/api/agents/main/events?follow=false",
	} {
		if got := w.as(token, "GET", path, "").is(200).body; strings.Contains(got, "approval_pending") || !strings.Contains(got, "approval_requested") {
			t.Errorf("%s: %s", path, got)
		}
	}
}
