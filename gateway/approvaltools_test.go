package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/policy"
)

// told is what an approval_* tool says of a request.
type told struct {
	RequestID string
	ShortID   int
	Status    approvals.Status
	Reason    string
	Executing bool
	Outcome   approvals.Outcome
	Next      string
	failed    string
}

// tell calls an approval_* tool; a failure is in failed, with its code.
func tell(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (got told) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return told{failed: err.Error()}
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if result.IsError {
		return told{failed: result.Content[0].(*mcp.TextContent).Text + string(raw)}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func bearer(key string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + key, "Holm-Hold": "0s"}
}

func TestAnAgentFollowsItsRequest(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	pending := call(t.Context(), session, "record", map[string]any{"n": 1})
	if !strings.Contains(pending.Text, "approval_wait") || !strings.Contains(pending.Text, "approval_status") {
		t.Errorf("the pending result says %q", pending.Text)
	}
	request := r.asked(approvals.Pending)
	for _, name := range []any{request.ID, request.ShortID, fmt.Sprint(request.ShortID), fmt.Sprintf("#%d", request.ShortID)} {
		if got := tell(t, session, "approval_status", map[string]any{"request": name}); got.RequestID != request.ID || got.Status != approvals.Pending {
			t.Errorf("%v: %+v", name, got)
		}
	}
	if got := tell(t, session, "approval_wait", map[string]any{"request": 1, "seconds": 1}); got.Status != approvals.Pending {
		t.Errorf("in vain: %+v", got)
	}

	answered := make(chan told, 1)
	go func() { answered <- tell(t, session, "approval_wait", map[string]any{"request": 1, "seconds": 300}) }()
	r.decide(request, true, policy.Single, "")
	if got := <-answered; got.Status != approvals.Approved || !strings.Contains(got.Next, "again") {
		t.Errorf("waited: %+v", got)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("waiting ran %v", ran)
	}
	if got := call(t.Context(), session, "record", map[string]any{"n": 1}); got.Text != "recorded" {
		t.Errorf("again: %+v", got)
	}
	if got := tell(t, session, "approval_wait", map[string]any{"request": 1}); got.Outcome != approvals.Succeeded {
		t.Errorf("in the end: %+v", got)
	}

	call(t.Context(), session, "record", map[string]any{"n": 2})
	if got := tell(t, session, "approval_cancel", map[string]any{"request": 2, "reason": "no need"}); got.Status != approvals.Cancelled || got.Reason != "no need" {
		t.Errorf("cancelled: %+v", got)
	}
	if got := tell(t, session, "approval_cancel", map[string]any{"request": 2}); !strings.Contains(got.failed, "already_decided") {
		t.Errorf("cancelled twice: %+v", got)
	}
}

// TestOnlyOwnersKnowOfOthersRequests: a foreign request and one that never was
// look the same in every tool.
func TestOnlyOwnersKnowOfOthersRequests(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	_, ownerKey := r.member("olga", policy.Owner)
	_, userKey := r.member("uma", policy.User)
	call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	owner, user := r.client(bearer(ownerKey)), r.client(bearer(userKey))
	for _, tool := range []string{"approval_status", "approval_wait", "approval_cancel"} {
		for name, none := range map[any]any{request.ID: "none", request.ShortID: 77} {
			foreign, unknown := tell(t, user, tool, map[string]any{"request": name}), tell(t, user, tool, map[string]any{"request": none})
			if same := strings.ReplaceAll(foreign.failed, fmt.Sprint(name), fmt.Sprint(none)); foreign.failed == "" || same != unknown.failed {
				t.Errorf("%s: %q and %q", tool, foreign.failed, unknown.failed)
			}
		}
	}
	if got := tell(t, owner, "approval_status", map[string]any{"request": 1}); got.RequestID != request.ID {
		t.Errorf("an owner's look: %+v", got)
	}
	for _, tool := range []string{"approval_list", "approval_review"} {
		if got := tell(t, user, tool, map[string]any{}); !strings.Contains(got.failed, "Unknown tool") {
			t.Errorf("%s: %+v", tool, got)
		}
	}
}

func TestAnOwnerReviewsByTool(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Resolutions: []policy.Resolution{policy.Single}}})
	olga, ownerKey := r.member("olga", policy.Owner)
	agent, owner := r.client(map[string]string{"Holm-Hold": "0s"}), r.client(bearer(ownerKey))
	call(t.Context(), agent, "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	call(t.Context(), owner, "record", map[string]any{"n": 2}) // the owner's own

	text, _ := plain(t, owner, "approval_list", map[string]any{"status": "pending", "limit": 5})
	var list struct{ Approvals []told }
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Approvals) != 2 || list.Approvals[1].RequestID != request.ID {
		t.Errorf("list %s (%v)", text, err)
	}
	for name, c := range map[string]struct {
		tool string
		args map[string]any
		want string
	}{
		"own":               {"approval_review", map[string]any{"request": 2, "decision": "approved", "resolution": "single"}, "own_request"},
		"own rejected":      {"approval_review", map[string]any{"request": 2, "decision": "rejected"}, "own_request"},
		"not offered":       {"approval_review", map[string]any{"request": 1, "decision": "approved"}, "resolution_not_offered"},
		"no decision":       {"approval_review", map[string]any{"request": 1}, "want approved or rejected"},
		"a resolution":      {"approval_review", map[string]any{"request": 1, "decision": "rejected", "resolution": "single"}, "no resolution"},
		"an extent":         {"approval_review", map[string]any{"request": 1, "decision": "approved", "extent": "tool"}, "persistent"},
		"unknown argument":  {"approval_review", map[string]any{"request": 1, "decision": "approved", "force": true}, "no argument"},
		"unknown":           {"approval_review", map[string]any{"request": 9, "decision": "approved"}, "not_found"},
		"no request":        {"approval_status", map[string]any{}, "number or the id"},
		"an odd request":    {"approval_status", map[string]any{"request": []int{1}}, "number or the id"},
		"a negative number": {"approval_status", map[string]any{"request": -1}, "number or the id"},
		"no time":           {"approval_wait", map[string]any{"request": 1, "seconds": 0}, "want 1 to 300"},
		"too much time":     {"approval_wait", map[string]any{"request": 1, "seconds": 301}, "want 1 to 300"},
		"an odd status":     {"approval_list", map[string]any{"status": "open"}, "want pending"},
		"a large limit":     {"approval_list", map[string]any{"limit": 201}, "want 1 to 200"},
	} {
		if got := tell(t, owner, c.tool, c.args); !strings.Contains(got.failed, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}

	got := tell(t, owner, "approval_review", map[string]any{"request": 1, "decision": "approved", "resolution": "single", "reason": "fine"})
	if got.Status != approvals.Approved || got.Reason != "fine" {
		t.Fatalf("reviewed: %+v", got)
	}
	now, err := approvals.Lookup(t.Context(), r.pool, request.ID)
	if err != nil || *now.ResolvedBy != olga.ID || *now.ResolvedName != "olga" || *now.ResolvedVia != "mcp" {
		t.Errorf("recorded %+v, %v", now, err)
	}
	if got := tell(t, owner, "approval_review", map[string]any{"request": 1, "decision": "rejected"}); !strings.Contains(got.failed, "already_decided") {
		t.Errorf("twice: %+v", got)
	}
}

// TestAReviewThatIsOneOfTwo: what an owner's tool says of a vote, and of a rejection
// that invites another proposal.
func TestAReviewThatIsOneOfTwo(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Quorum: 2}})
	_, olgaKey := r.member("olga", policy.Owner)
	_, ottoKey := r.member("otto", policy.Owner)
	agent, olga, otto := r.client(map[string]string{"Holm-Hold": "0s"}), r.client(bearer(olgaKey)), r.client(bearer(ottoKey))
	call(t.Context(), agent, "record", map[string]any{"n": 1})
	review := map[string]any{"request": 1, "decision": "approved", "resolution": "single"}
	if got := tell(t, olga, "approval_review", review); got.Status != approvals.Pending || !strings.Contains(got.Next, "Your approval counts: it has 1 of 2 approvals") {
		t.Errorf("the first: %+v", got)
	}
	if got := tell(t, olga, "approval_review", review); !strings.Contains(got.failed, "already_voted") {
		t.Errorf("the first again: %+v", got)
	}
	if got := tell(t, otto, "approval_review", review); got.Status != approvals.Approved {
		t.Errorf("the second: %+v", got)
	}

	call(t.Context(), agent, "record", map[string]any{"n": 2})
	odd := map[string]any{"request": 2, "decision": "approved", "tryDifferently": true}
	if got := tell(t, olga, "approval_review", odd); !strings.Contains(got.failed, "only a rejection") {
		t.Errorf("an approval to be tried differently: %+v", got)
	}
	odd["decision"] = "rejected"
	if got := tell(t, olga, "approval_review", odd); got.Status != approvals.Rejected || !strings.Contains(got.Next, "try it differently") {
		t.Errorf("rejected: %+v", got)
	}
}

// TestAWideRowGivesNoReview: a row that opens every tool to the agent's own key
// makes nobody a reviewer.
func TestAWideRowGivesNoReview(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "*", Effect: policy.Allow})
	_, userKey := r.member("uma", policy.User)
	call(t.Context(), r.client(bearer(userKey)), "record", map[string]any{"n": 1})
	if got := tell(t, r.client(nil), "approval_review", map[string]any{"request": 1, "decision": "approved"}); !strings.Contains(got.failed, "not_found") {
		t.Errorf("a bare key: %+v", got)
	}
	if got := r.asked(approvals.Pending); got.ResolvedBy != nil {
		t.Errorf("decided: %+v", got)
	}
}

func TestApprovalToolsSayWhatTheyDo(t *testing.T) {
	r := newRig(t)
	list, err := r.client(nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{}
	for _, tool := range list.Tools {
		if strings.HasPrefix(tool.Name, "approval_") {
			readOnly[tool.Name] = tool.Annotations.ReadOnlyHint
		}
	}
	want := map[string]bool{"approval_cancel": false, "approval_status": true, "approval_wait": true}
	if diff := cmp.Diff(want, readOnly); diff != "" {
		t.Error(diff)
	}
}
