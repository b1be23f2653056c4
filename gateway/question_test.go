package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/gateway"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/servers"
	"holm/internal/session"
	"holm/policy"
	"holm/policy/rulestore"
)

func (r *rig) get(request approvals.Request) approvals.Request {
	r.t.Helper()
	now, err := approvals.Get(context.Background(), r.pool, agentName, request.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return now
}

// status is what the tool approval_status says of a request.
func (r *rig) status(request approvals.Request) string {
	r.t.Helper()
	answer := r.modern("tools/call", "approval_status", map[string]any{"name": "approval_status", "arguments": map[string]any{"request": request.ShortID}})
	return string(answer["result"])
}

// asks is a row that asks, about more or less than the tool record.
func asks(resourceType, key string, scope policy.Scope) policy.Row {
	return policy.Row{ResourceType: resourceType, ResourceKey: key, Effect: policy.RequireApproval, Scope: scope}
}

var twoApprove = policy.Scope{Approval: &policy.ApprovalSettings{Quorum: 2}}

// later rules are those that come to cover a held call.
var laterRules = map[string]policy.Row{
	"on the server":      asks(policy.TypeMCP, "fix", twoApprove),
	"a pattern":          asks(policy.TypeTool, "mcp__fix__*", twoApprove),
	"of the arguments":   asks(policy.TypeTool, "mcp__fix__record", policy.Scope{Args: []policy.Condition{{Arg: "n", Pattern: "1"}}, Approval: twoApprove.Approval}),
	"of other approvers": asks(policy.TypeTool, "mcp__fix__*", policy.Scope{Approval: &policy.ApprovalSettings{Approvers: []policy.Grant{policy.ToRole(policy.User)}}}),
	"with more risk":     asks(policy.TypeTool, "mcp__*", policy.Scope{Approval: &policy.ApprovalSettings{Risk: policy.RiskHigh}}),
	"a plain one":        asks(policy.TypeTool, "mcp__fix__*", policy.Scope{}),
}

// way is how a call reaches the gate and waits there; it gives what it came to.
type way func(r *rig) <-chan string

var ways = map[string]way{
	"mcp": func(r *rig) <-chan string { return r.held(r.client(nil).ID(), `{'n':1}`) },
	"enforce": func(r *rig) <-chan string {
		done := make(chan string, 1)
		go func() { done <- r.enforced(10 * time.Minute) }()
		return done
	},
}

// enforced puts the call to the gate as one that its caller runs.
func (r *rig) enforced(wait time.Duration) string {
	ctx := context.Background()
	caller := identity.Caller{AgentID: agentName}
	done, err := r.gateway.Enforce(ctx, gateway.Enforcement{
		Caller: caller, Session: session.Session{ID: "api:" + agentName, AgentID: agentName, Kind: session.API, RequesterID: caller.RequesterID()},
		ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__record",
		Request: func(ctx context.Context) (policy.Request, error) {
			p, err := identity.PrincipalOf(ctx, r.pool, caller)
			if err != nil {
				return policy.Request{}, err
			}
			args, err := policy.ParseArgs([]byte(`{"n":1}`))
			return policy.Request{Principal: p, Tool: servers.ResourceKey("fix", "record"), Server: "fix", Args: args}, err
		},
		Reprove: func(context.Context) error { return nil }, Wait: wait,
	})
	if f, ok := fault.As(err); ok {
		return f.Code + ": " + f.Message
	}
	return fmt.Sprintf("recorded %v %v", done.RequestID != "", err)
}

// answer approves a request by as many people as it needs.
func (r *rig) answer(request approvals.Request, resolution policy.Resolution) {
	r.t.Helper()
	by := []string{"olga", "otto"}
	for _, name := range by[:request.Settings.Needed()] {
		user, _ := r.owner(name)
		_, err := r.approvals.Decide(context.Background(), approvals.Decision{
			AgentID: agentName, RequestID: request.ID, Approve: true, Resolution: resolution,
			Actor: approvals.Actor{UserID: user.ID, Name: name, Via: "test"},
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// owner is one who may also decide as a user.
func (r *rig) owner(name string) (identity.User, string) { return r.member(name, policy.Owner) }

// next waits for the request after the first n.
func (r *rig) next(n int) approvals.Request {
	r.t.Helper()
	r.waitsFor(n + 1)
	list, err := approvals.List(context.Background(), r.pool, agentName, approvals.Filter{Duplicates: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return list[0]
}

// TestARuleThatAppearsWhileACallIsHeldIsAsked: an answer to the question as it was
// lets nothing through, the old request says so, and the new one has what every rule
// wants.
func TestARuleThatAppearsWhileACallIsHeldIsAsked(t *testing.T) {
	for how, held := range ways {
		for what, further := range laterRules {
			for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
				if what != "on the server" && resolution != policy.Single {
					continue // the way of the answer has no part in which rules there are
				}
				t.Run(strings.Join([]string{how, what, string(resolution)}, "/"), func(t *testing.T) {
					r := newRig(t)
					r.rule("record", policy.RequireApproval, policy.Scope{})
					done := held(r)
					first := r.asked(approvals.Pending)
					further.Note = "since last week's accident"
					r.put(further)
					r.answer(first, resolution)
					second := r.next(1)
					if ran := r.ran(); ran != nil {
						t.Fatalf("ran %v", ran)
					}
					if second.Status != approvals.Pending || !strings.Contains(second.RuleText, "the rules for this call changed since request 1 was approved") ||
						!strings.Contains(second.RuleText, further.Note) {
						t.Errorf("asked anew: %s, why: %s", second.Status, second.RuleText)
					}
					if old := r.get(first); old.ClaimedAt != nil || old.Stopped == nil || *old.Stopped != "the rules for this call changed; asked anew as request 2" {
						t.Errorf("the first request: claimed %v, stopped %v", old.ClaimedAt, old.Stopped)
					}
					if text := r.status(first); !strings.Contains(text, "nothing was executed: the rules for this call changed; asked anew as request 2") {
						t.Errorf("approval_status: %s", text)
					}
					if what == "of other approvers" {
						return // nobody is a user and an owner
					}
					r.answer(second, policy.Single)
					if got := <-done; !strings.Contains(got, "recorded") {
						t.Errorf("got %s", got)
					}
					if now := r.get(second); now.ClaimedAt == nil {
						t.Error("the second request was not claimed")
					}
				})
			}
		}
	}
}

// TestARetryAfterPendingIsAskedWhatHoldsNow: so does a call that comes back for an
// answer, approved or still open, and what was approved for some time.
func TestARetryAfterPendingIsAskedWhatHoldsNow(t *testing.T) {
	for how, again := range map[string]func(r *rig) string{
		"mcp": func(r *rig) string {
			return call(context.Background(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1}).Kind
		},
		"enforce": func(r *rig) string { return r.enforced(0) },
	} {
		for what, before := range map[string]func(r *rig, asked approvals.Request){
			"open":                func(*rig, approvals.Request) {},
			"approved":            func(r *rig, asked approvals.Request) { r.decide(asked, true, policy.Single, "") },
			"approved for a time": func(r *rig, asked approvals.Request) { r.decide(asked, true, policy.Once, ""); again(r); again(r) },
			"always":              func(r *rig, asked approvals.Request) { r.decide(asked, true, policy.Persistent, ""); again(r) },
		} {
			t.Run(how+"/"+what, func(t *testing.T) {
				r := newRig(t)
				r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Binding: policy.BindResource}})
				again(r)
				first := r.asked(approvals.Pending)
				before(r, first)
				ran := len(r.ran())
				r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "other", Effect: policy.RequireApproval})
				if what == "approved for a time" && !strings.Contains(again(r), "APPROVAL") && how == "mcp" && len(r.ran()) != ran+1 {
					t.Error("a rule on another tool ended the window")
				}
				ran = len(r.ran())
				r.put(laterRules["on the server"])
				if got := strings.ToLower(again(r)); !strings.Contains(got, "approval_required") {
					t.Errorf("again: %s", got)
				}
				second := r.next(1)
				if second.Settings.Needed() != 2 || len(r.ran()) != ran {
					t.Errorf("needs %d, ran %v", second.Settings.Needed(), r.ran())
				}
				old := r.get(first)
				if open := old.Status == approvals.Cancelled; open != (what == "open") || open && !old.Superseded() {
					t.Errorf("the first is %s, stopped %v", old.Status, old.Stopped)
				}
				if grants, err := approvals.Grants(t.Context(), r.pool, agentName, ""); err != nil || (len(grants) > 0) != (what == "always") {
					t.Errorf("grants %+v, %v", grants, err)
				}
			})
		}
	}
}

// TestOnlyRulesThatTakePartChangeAQuestion: others come and go while a call is held.
func TestOnlyRulesThatTakePartChangeAQuestion(t *testing.T) {
	for how, held := range ways {
		for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
			t.Run(how+"/"+string(resolution), func(t *testing.T) {
				r := newRig(t)
				r.rule("record", policy.RequireApproval, policy.Scope{})
				done := held(r)
				asked := r.asked(approvals.Pending)
				r.put(asks(policy.TypeTool, "mcp__fix__echo", twoApprove))
				r.put(asks(policy.TypeTool, "mcp__fix__record", policy.Scope{Args: []policy.Condition{{Arg: "n", Pattern: "2"}}}))
				r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__*", Effect: policy.Allow})
				guests := asks(policy.TypeTool, "mcp__fix__*", twoApprove)
				guests.Grants = []policy.Grant{policy.ToRole(policy.Guest)}
				r.put(guests)
				r.answer(asked, resolution)
				if got := <-done; !strings.Contains(got, "recorded") {
					t.Errorf("got %s", got)
				}
				if now := r.get(asked); now.ClaimedAt == nil || now.Stopped != nil {
					t.Errorf("claimed %v, stopped %v", now.ClaimedAt, now.Stopped)
				}
			})
		}
	}
}

// TestRulesThatAnotherProcessChanged: the row is there before its notice is.
func TestRulesThatAnotherProcessChanged(t *testing.T) {
	for how, held := range ways {
		for what, row := range map[string]policy.Row{
			"asks":   laterRules["on the server"],
			"denies": {ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__record", Effect: policy.Deny},
		} {
			t.Run(how+"/"+what, func(t *testing.T) {
				r := newRig(t)
				r.rule("record", policy.RequireApproval, policy.Scope{})
				done := held(r)
				first := r.asked(approvals.Pending)
				row.AgentID, row.Grants = agentName, []policy.Grant{policy.Any()}
				r.tx(func(tx pgx.Tx) error {
					_, err := rulestore.Put(context.Background(), tx, row, "test")
					return err
				})
				r.answer(first, policy.Single) // no notice: this process has not heard
				if what == "asks" {
					r.answer(r.next(1), policy.Single)
				}
				got := <-done
				if denied := strings.Contains(got, "deny on tool mcp__fix__record"); denied != (what == "denies") {
					t.Errorf("got %s", got)
				}
				if r.get(first).ClaimedAt != nil {
					t.Error("the first request was claimed")
				}
			})
		}
	}
}

// TestAnAlwaysForTheDefaultAnswersNoRule: who approved what the agent's default asked
// has not answered a rule that was written later.
func TestAnAlwaysForTheDefaultAnswersNoRule(t *testing.T) {
	r := newRig(t)
	r.exec(`UPDATE agents SET default_decision = 'require_approval', policy_version = policy_version + 1 WHERE id = $1`, agentName)
	r.rules.Changed(agentName)
	done := r.held(r.client(nil).ID(), `{'n':1}`)
	asked := r.asked(approvals.Pending)
	r.decide(asked, true, policy.Persistent, "")
	if got := <-done; !strings.Contains(got, "recorded") || r.get(asked).ClaimedAt == nil {
		t.Errorf("got %s, claimed %v", got, r.get(asked).ClaimedAt)
	}
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	if got := call(t.Context(), session, "record", map[string]any{"n": 2}); got.Text != "recorded" {
		t.Errorf("always, but %+v", got)
	}
	r.rule("record", policy.RequireApproval, policy.Scope{})
	if got := call(t.Context(), session, "record", map[string]any{"n": 3}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("a rule asks, but %+v", got)
	}
}

// TestAHeldCallThatNeedsNoAnswerAnyMoreRuns: its request says that it did not run by it.
func TestAHeldCallThatNeedsNoAnswerAnyMoreRuns(t *testing.T) {
	for how, held := range ways {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{})
			done := held(r)
			asked := r.asked(approvals.Pending)
			r.tx(func(tx pgx.Tx) error {
				_, err := rulestore.Delete(context.Background(), tx, agentName, policy.TypeTool, "mcp__fix__record", "", "test")
				return err
			})
			r.rule("record", policy.Allow, policy.Scope{})
			r.decide(asked, true, policy.Single, "")
			if got := <-done; !strings.Contains(got, "recorded") {
				t.Errorf("got %s", got)
			}
			if now := r.get(asked); now.ClaimedAt != nil || now.Stopped == nil || !strings.Contains(*now.Stopped, "no answer is needed") {
				t.Errorf("the request: claimed %v, stopped %v", now.ClaimedAt, now.Stopped)
			}
		})
	}
}

// TestAMergeKeepsTheQuestion: the requester's id is part of it, by whichever the
// person goes on.
func TestAMergeKeepsTheQuestion(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	una, unasKey := r.member("una", policy.User)
	ulf, _ := r.member("ulf", policy.User)
	done := later(t.Context(), r.client(map[string]string{"Authorization": "Bearer " + unasKey, "Holm-Hold": "10m"}), "record", map[string]any{"n": 1})
	asked := r.asked(approvals.Pending)
	r.one(una, ulf)
	r.exec(`UPDATE agent_members SET role = 'guest' WHERE user_id = $1`, ulf.ID)
	r.decide(asked, true, policy.Single, "")
	if got := <-done; got.Text != "recorded" || r.get(asked).ClaimedAt == nil {
		t.Errorf("%+v, claimed %v", got, r.get(asked).ClaimedAt)
	}
}

// TestACallThatWasTypedIsAskedWhatHoldsNow: a typed call comes back by itself when its
// request was answered, or was asked anew by somebody else.
func TestACallThatWasTypedIsAskedWhatHoldsNow(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	una := r.person("una", policy.User)
	typed := func(waited string) gateway.PersonAnswer {
		answer, err := r.gateway.CallAsPerson(t.Context(), gateway.PersonCall{
			Session: una, Tool: "mcp__fix__record", Args: json.RawMessage(`{"n":1}`), Waited: waited,
			Sending: func(context.Context, string) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := typed("").Waits
	r.put(laterRules["on the server"])
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	second := typed(first).Waits
	if second == "" || second == first || r.ran() != nil {
		t.Fatalf("waits for %q after %q, ran %v", second, first, r.ran())
	}
	r.rule("record", policy.Deny, policy.Scope{})
	if got := typed(second); !strings.Contains(got.Refusal, "deny on tool mcp__fix__record") {
		t.Errorf("denied: %+v", got)
	}
	if got := typed(""); !strings.Contains(got.Refusal, "no tool") {
		t.Errorf("a new call: %+v", got)
	}
}
