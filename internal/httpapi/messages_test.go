package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holm/internal/db"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// A program with the agent's key and a person talk in a session that the person
// began; nobody else reads or writes in it.
func TestAPersonAndTheAgentTalk(t *testing.T) {
	w := start(t)
	bare := w.agent("main")
	gus := w.person(identity.Address{Channel: "matrix", Identity: "@gus"}, "main", policy.Guest)
	eve := w.person(identity.Address{Channel: "matrix", Identity: "@eve"}, "main", policy.User)
	own := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+gus.ID+`"}`).is(201).field("key")
	other := w.admin("POST", "/api/agents/main/keys", `{"userId":"`+eve.ID+`"}`).is(201).field("key")

	id := w.as(own, "POST", "/api/agents/main/sessions", "").is(201).field("id")
	path := "/api/agents/main/sessions/" + id
	w.as(own, "POST", path+"/messages", `{"text":"hello"}`).is(201)
	w.as(bare, "POST", path+"/messages", `{"text":"good day"}`).is(201)
	w.as(other, "POST", path+"/messages", `{"text":"me too"}`).is(404, "not_found")
	w.admin("POST", path+"/messages", `{"text":"me too"}`).is(403, "no_participant")
	w.admin("POST", "/api/agents/main/sessions", "").is(403)
	w.as(own, "POST", path+"/messages", `{"text":""}`).is(422)
	w.as(own, "POST", path+"/messages", `{"text":"`+strings.Repeat("x", session.MaxMessage+1)+`"}`).is(422)

	for _, token := range []string{own, bare, adminToken} {
		events := w.as(token, "GET", path+"/events?follow=false", "").is(200).body
		at := strings.Index(events, "event: user_message")
		if at < 0 || !strings.Contains(events[at:], "event: agent_message") || !strings.Contains(events, `"userId":"`+gus.ID+`"`) {
			t.Errorf("events %s", events)
		}
	}
	w.as(other, "GET", path+"/events?follow=false", "").is(404, "not_found")
	w.as(other, "GET", "/api/agents/main/events?follow=false", "").is(403)

	// It ends for good, by those who see it; the agent may still answer.
	w.as(other, "POST", path+"/end", "").is(404, "not_found")
	if ended := w.as(own, "POST", path+"/end", "").is(200).field("endedAt"); ended == "" || ended != w.as(bare, "POST", path+"/end", "").is(200).field("endedAt") {
		t.Errorf("ended at %q, and again", ended)
	}
	w.as(own, "POST", path+"/messages", `{"text":"one more"}`).is(409, "session_ended")
	w.as(bare, "POST", path+"/messages", `{"text":"done"}`).is(201)
	w.admin("POST", "/api/agents/main/sessions/"+w.keySession(own, gus.ID)+"/end", "").is(422)
}

// keySession stores the session that the calls of a key share.
func (w *world) keySession(key, userID string) string {
	w.t.Helper()
	prefix := strings.Split(key, "_")[2]
	err := session.Ensure(context.Background(), w.pool, session.Session{ID: "key:" + prefix, AgentID: "main", Kind: session.Key, RequesterID: userID, KeyPrefix: prefix})
	if err != nil {
		w.t.Fatal(err)
	}
	return "key:" + prefix
}

// The agent's key follows what people say to it, and not what they do with
// other keys of theirs.
func TestTheAgentsKeyFollowsConversations(t *testing.T) {
	w := start(t)
	bare := w.agent("main")
	gus := w.person(identity.Address{Channel: "matrix", Identity: "@gus"}, "main", policy.Guest)
	w.ask("main", gus.ID, `{"secret":1}`)
	attached := func() (yes bool) {
		t.Helper()
		yes, err := session.Attached(t.Context(), w.pool, "main")
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	chat := session.Session{ID: "chat:1", AgentID: "main", Kind: session.Chat, RequesterID: gus.ID}
	err := db.InTx(t.Context(), w.pool, func(tx pgx.Tx) error {
		if err := session.Ensure(t.Context(), tx, chat); err != nil {
			return err
		}
		_, err := session.Post(context.Background(), tx, nil, chat, gus.ID, session.Message{Text: "hello"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if attached() {
		t.Error("attached before anybody listens")
	}
	events := w.as(bare, "GET", "/api/agents/main/events?follow=false", "").is(200).body
	if !strings.Contains(events, `"text":"hello"`) || strings.Contains(events, "approval_requested") {
		t.Errorf("events %s", events)
	}
	if !attached() {
		t.Error("not attached after listening")
	}
	var list []session.Session
	w.as(bare, "GET", "/api/agents/main/sessions", "").is(200).into(&list)
	if len(list) != 1 || list[0].ID != chat.ID {
		t.Errorf("sessions %+v", list)
	}
}
