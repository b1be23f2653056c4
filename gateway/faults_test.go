package gateway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holm/approvals"
	"holm/policy"
)

// Faults of docs/faults.md that no other test shows.

// What was approved runs, byte for byte, though the retry spells it otherwise.
func TestFault55WhatWasApprovedRuns(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	send := func(arguments string) {
		t.Helper()
		r.post(map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "mcp__fix__record", "Holm-Hold": "0s"},
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":`+arguments+`,"_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	}
	const asked = `{"to":"bea","n":1.0}`
	send(asked)
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	send(`{"to":"eve","n":1.0}`) // a question of its own
	send(`{"n":1.0,"to":"\u0062ea"}`)
	if diff := cmp.Diff([]string{asked}, r.ran()); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

// An agent's key is that agent, whatever the headers beside it say: an owner's
// name in them neither allows a call nor answers for it.
func TestFault75HeadersNameNobody(t *testing.T) {
	r := newRig(t)
	olga, _ := r.member("olga", policy.Owner)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__echo", Effect: policy.Allow, Grants: []policy.Grant{policy.ToRole(policy.Owner)}})
	d := newDialogs()
	session := r.clientWith(map[string]string{
		"Holm-Hold": "0s", "X-Channel-User-Id": "olga", "X-Channel": "x", "X-User-Id": olga.ID, "X-Holm-User": olga.ID, "X-Forwarded-User": olga.ID,
	}, d.options())
	if got := call(t.Context(), session, "echo", map[string]any{"text": "hi"}); got.Err == nil && !got.IsError {
		t.Errorf("a tool of owners answered %+v", got)
	}
	call(t.Context(), session, "record", map[string]any{"n": 1})
	if request := r.asked(approvals.Pending); request.RequesterID != "agent:"+agentName || request.Mode != approvals.Async {
		t.Errorf("asked by %s in mode %s", request.RequesterID, request.Mode)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("ran %v", ran)
	}
}

// A call that stops at the next gate leaves the one before executed, not
// "approved".
func TestFault103TheNextQuestionLeavesNoneHalfDone(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "30s"})
	first := later(t.Context(), session, "record", map[string]any{"n": 1})
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	<-first
	second := later(t.Context(), session, "record", map[string]any{"n": 2})
	next := r.asked(approvals.Pending)
	list, err := approvals.List(t.Context(), r.pool, agentName, approvals.Filter{})
	if err != nil || len(list) != 2 {
		t.Fatalf("%d requests, %v", len(list), err)
	}
	if done := list[1]; done.Outcome == nil || *done.Outcome != approvals.Succeeded {
		t.Errorf("while #%d waits, the first is %s with outcome %v", next.ShortID, done.Status, done.Outcome)
	}
	r.decide(next, false, "", "")
	<-second
}
