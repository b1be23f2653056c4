package httpapi_test

import (
	"fmt"
	"testing"

	"holm/approvals"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// rule stores a rule over REST and asks under it, as the gateway does.
func (w *world) rule(requester, approval string) approvals.Request {
	w.t.Helper()
	var row struct {
		ID      string
		Version int
	}
	w.admin("POST", "/api/agents/main/policies", `{"resourceType":"tool","resourceKey":"mcp__pay__transfer","effect":"require_approval",
		"grants":[{"type":"any"}],"scope":{"approval":`+approval+`}}`).is(201).into(&row)
	scope, err := policy.ParseScope(policy.TypeTool, []byte(`{"approval":`+approval+`}`))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.approvals.Ask(w.t.Context(), approvals.Call{
		Session:       session.Session{ID: "of " + requester, AgentID: "main", Kind: session.API, RequesterID: requester},
		RequesterName: requester, ResourceType: policy.TypeTool, ResourceKey: "mcp__pay__transfer",
		Rule: policy.Row{ID: row.ID, Version: row.Version, ResourceType: "tool", ResourceKey: "mcp__pay__transfer", Scope: scope},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// The settings of a rule act over REST: who decides, how many, and with a reason.
func TestARuleSaysWhoDecidesAndHow(t *testing.T) {
	w := start(t)
	w.agent("main")
	uma := w.person(identity.Address{Channel: "matrix", Identity: "@uma"}, "main", policy.User)
	w.person(identity.Address{Channel: "matrix", Identity: "@owner"}, "main", policy.Owner)
	token := w.admin("POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"https://adapter.example.com"}`).is(201).field("token")
	r := w.rule("agent:main", `{"quorum":2,"requireReason":true,"approvers":[{"type":"role","value":"user"}]}`)
	e := external{world: w, token: token, request: r}

	w.admin("POST", reviewPath(r), `{"decision":"approved"}`).is(422, "reason_required")
	w.admin("POST", reviewPath(r), `{"decision":"rejected","reason":" "}`).is(422, "reason_required")
	var got approvals.Wire
	w.admin("POST", reviewPath(r), `{"decision":"approved","reason":"checked"}`).is(200).into(&got)
	if got.Status != approvals.Pending || got.Quorum != 2 || len(got.Votes) != 1 || got.Votes[0].Approver != "admin" || !got.Votes[0].Counts {
		t.Errorf("after one vote: %+v", got)
	}
	w.admin("POST", reviewPath(r), `{"decision":"approved","reason":"again"}`).is(409, "already_voted")

	path := "/api/agents/main/approvals/" + r.ID
	e.as(token, "GET", path, "", "X-Channel-User-Id", "@uma").is(200)
	var list []approvals.Wire
	e.as(token, "GET", "/api/agents/main/approvals", "", "X-Channel-User-Id", "@uma").is(200).into(&list)
	if len(list) != 1 {
		t.Errorf("who may decide sees %d requests", len(list))
	}
	button := e.button(r, "matrix", "@uma", approvals.ApproveCall)
	e.press("@uma", `{"decision":"approved","button":"`+button+`"}`).is(422, "reason_required")
	e.press("@uma", `{"decision":"approved","reason":"expected","button":"`+button+`"}`).is(200).into(&got)
	if got.Status != approvals.Approved || text(got.Resolution) != "single" || text(got.ResolvedBy) != uma.ID || len(got.Votes) != 2 {
		t.Errorf("after two votes: %+v", got)
	}
	var cards int
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM card_deliveries WHERE identity = '@owner'`).Scan(&cards); err != nil || cards != 0 {
		t.Errorf("%d cards at an owner whom the rule does not name, %v", cards, err)
	}
}

func TestNobodyApprovesTheirOwnOverREST(t *testing.T) {
	w := start(t)
	w.agent("main")
	uma := w.person(identity.Address{Channel: "matrix", Identity: "@uma"}, "main", policy.User)
	token := w.admin("POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"https://adapter.example.com"}`).is(201).field("token")
	r := w.rule("agent:main", `{"approvers":[{"type":"any"}]}`)
	e := external{world: w, token: token, request: r}
	button := e.button(r, "matrix", "@uma", approvals.ApproveCall)
	// The card was made before it turned out whose request it is.
	if _, err := w.pool.Exec(t.Context(), `UPDATE approval_requests SET requester_id = $1`, uma.ID); err != nil {
		t.Fatal(err)
	}
	e.press("@uma", fmt.Sprintf(`{"decision":"approved","button":%q}`, button)).is(403, "self_approval")
	w.stillPending(r)
}
