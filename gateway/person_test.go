package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/identity"
	"holm/internal/servers"
	"holm/internal/session"
	"holm/policy"
)

// person makes a user of the agent, with a chat session.
func (r *rig) person(name string, role policy.Role) session.Session {
	r.t.Helper()
	ctx := context.Background()
	var s session.Session
	r.tx(func(tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: "chat", Identity: name}, name)
		if err != nil {
			return err
		}
		s = session.Session{ID: "chat:" + name, AgentID: agentName, Kind: session.Chat, RequesterID: user.ID}
		if err := session.Ensure(ctx, tx, s); err != nil {
			return err
		}
		return identity.Join(ctx, tx, agentName, user.ID, role, "test")
	})
	return s
}

// runAs calls a tool of the fixture, and counts how often it was about to be sent.
func (r *rig) runAs(s session.Session, tool, args string, sent *[]string) gateway.PersonAnswer {
	r.t.Helper()
	answer, err := r.gateway.CallAsPerson(r.t.Context(), gateway.PersonCall{
		Session: s, Tool: "mcp__fix__" + tool, Args: json.RawMessage(args),
		Sending: func(_ context.Context, requestID string) error {
			*sent = append(*sent, requestID)
			return nil
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func TestAPersonsCallTakesTheGate(t *testing.T) {
	r := newRig(t)
	gus, eve := r.person("gus", policy.Guest), r.person("eve", policy.User)
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__record", Effect: policy.Allow, Grants: []policy.Grant{policy.ToRole(policy.Guest)}})
	var sent []string
	if a := r.runAs(gus, "record", `{"n":1}`, &sent); a.Result == nil {
		t.Errorf("a guest's call: %+v", a)
	}
	if a := r.runAs(eve, "record", `{"n":2}`, &sent); !strings.Contains(a.Refusal, "no tool") {
		t.Errorf("a user's call: %+v", a)
	}
	if a := r.runAs(gus, "record", `{"n":1,"n":2}`, &sent); !strings.Contains(a.Refusal, "arguments cannot be used") {
		t.Errorf("two values: %+v", a)
	}
	r.tx(func(tx pgx.Tx) error {
		_, err := identity.Leave(context.Background(), tx, agentName, gus.RequesterID, false, "test")
		return err
	})
	if a := r.runAs(gus, "record", `{"n":3}`, &sent); !strings.Contains(a.Refusal, "no member") {
		t.Errorf("after leaving: %+v", a)
	}
	if diff := cmp.Diff([]string{`{"n":1}`}, r.ran()); diff != "" || len(sent) != 1 {
		t.Errorf("sent %d times: %s", len(sent), diff)
	}
}

func TestAPersonsCallWaitsForApprovalAndRunsOnce(t *testing.T) {
	r := newRig(t)
	gus := r.person("gus", policy.Guest)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	var sent []string
	for range 2 {
		if a := r.runAs(gus, "record", `{"n":1}`, &sent); a.Waits == "" {
			t.Fatalf("before the answer: %+v", a)
		}
	}
	request := r.asked(approvals.Pending)
	if request.RequesterName != "gus (guest)" {
		t.Errorf("asked by %q, want the role beside the name", request.RequesterName)
	}
	if request.RequesterID != gus.RequesterID || request.SessionID != gus.ID {
		t.Errorf("asked by %s in %s", request.RequesterID, request.SessionID)
	}
	r.decide(request, true, policy.Single, "")

	// Somebody else is sending it: the approval is not spent.
	taken := errors.New("taken")
	_, err := r.gateway.CallAsPerson(t.Context(), gateway.PersonCall{
		Session: gus, Tool: "mcp__fix__record", Args: json.RawMessage(`{"n":1}`),
		Sending: func(context.Context, string) error { return taken },
	})
	if !errors.Is(err, taken) || r.ran() != nil {
		t.Fatalf("error %v, ran %v", err, r.ran())
	}
	first := r.runAs(gus, "record", `{"n":1}`, &sent)
	again := r.runAs(gus, "record", `{"n":1}`, &sent)
	if first.Result == nil || string(again.Result) != string(first.Result) {
		t.Errorf("results %s and %s", first.Result, again.Result)
	}
	if diff := cmp.Diff([]string{request.ID}, sent); diff != "" {
		t.Errorf("sent: %s", diff)
	}
	if diff := cmp.Diff([]string{`{"n":1}`}, r.ran()); diff != "" {
		t.Error(diff)
	}
	second := r.runAs(gus, "record", `{"n":2}`, &sent)
	if second.Waits == "" {
		t.Fatalf("other arguments: %+v", second)
	}
	r.decide(r.asked(approvals.Pending), false, "", "no")
	if a := r.runAs(gus, "record", `{"n":2}`, &sent); a.Ended == nil || a.Ended.Status != approvals.Rejected {
		t.Errorf("after the rejection: %+v", a)
	}
}

// TestCallsThatWaitedShareOneExecution: an approval for some time is used once by
// those who waited for it, and is there for further calls.
func TestCallsThatWaitedShareOneExecution(t *testing.T) {
	r := newRig(t)
	gus := r.person("gus", policy.Guest)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	elsewhere := gus
	elsewhere.ID = "chat:gus elsewhere"
	again := func(s session.Session, waited string) gateway.PersonAnswer {
		t.Helper()
		answer, err := r.gateway.CallAsPerson(t.Context(), gateway.PersonCall{
			Session: s, Tool: "mcp__fix__record", Args: json.RawMessage(`{"n":1}`), Waited: waited,
			Sending: func(context.Context, string) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	own, shared := again(gus, "").Waits, again(elsewhere, "").Waits
	if own == shared {
		t.Fatal("two sessions have one request")
	}
	r.decide(r.asked(approvals.Pending), true, policy.Once, "")
	first := again(gus, own)
	for _, other := range []gateway.PersonAnswer{again(elsewhere, shared), again(gus, own)} {
		if first.Result == nil || string(other.Result) != string(first.Result) {
			t.Errorf("results %+v and %+v", first, other)
		}
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %d times", len(ran))
	}
	if a := again(gus, ""); a.Result == nil || len(r.ran()) != 2 {
		t.Errorf("a further call: %+v", a)
	}
}

func TestAPersonSeesTheToolsWithWhatTheyNeed(t *testing.T) {
	r := newRig(t)
	gus := r.person("gus", policy.Guest)
	r.rule("echo", policy.Allow, policy.Scope{})
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.rule("slow", policy.Allow, policy.Scope{Args: []policy.Condition{{Arg: "ms", Match: policy.MatchGlob, Pattern: "1*"}}})
	tools, err := r.gateway.PersonTools(t.Context(), agentName, gus.RequesterID)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]policy.Effect{}
	for _, tool := range tools {
		if tool.Server == "fix" {
			got[tool.Short] = tool.Decision
			if !json.Valid(tool.Schema) || tool.Name != "mcp__fix__"+tool.Short {
				t.Errorf("tool %+v", tool)
			}
		}
	}
	if diff := cmp.Diff(map[string]policy.Effect{"echo": policy.Allow, "record": policy.RequireApproval, "slow": ""}, got); diff != "" {
		t.Error(diff)
	}
}

// A change of the servers holds in the process that made it when it returns.
func TestServersChangeAtOnce(t *testing.T) {
	r := newRig(t)
	gus := r.person("gus", policy.Guest)
	r.rule("echo", policy.Allow, policy.Scope{})
	listed := func() (names []string) {
		t.Helper()
		tools, err := r.gateway.PersonTools(t.Context(), agentName, gus.RequesterID)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			if tool.Server == "fix" {
				names = append(names, tool.Short)
			}
		}
		return names
	}
	fix, err := r.servers.Get(t.Context(), "fix")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := listed(); len(got) != 1 {
			t.Fatalf("%v right after the server was added", got)
		}
		if err := r.servers.Remove(t.Context(), "fix", "test", func(pgx.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := listed(); len(got) != 0 {
			t.Fatalf("%v right after the server was removed", got)
		}
		if _, err := r.servers.Add(t.Context(), servers.Server{Name: fix.Name, Command: fix.Command, Env: fix.Env}, "test"); err != nil {
			t.Fatal(err)
		}
	}
}
