package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

func TestAllowedCallPassesBytesUnchanged(t *testing.T) {
	r := newRig(t)
	r.rule("exact", policy.Allow, policy.Scope{})
	got := r.modern("tools/call", "mcp__fix__exact", map[string]any{"name": "mcp__fix__exact", "arguments": map[string]any{}})
	want := `"structuredContent":{"big":9007199254740993,"huge":123456789012345678901234567890,"nothing":null,"zero":0}`
	if !strings.Contains(string(got["result"]), want) {
		t.Errorf("result %s lacks %s", got["result"], want)
	}
	if !strings.Contains(string(got["result"]), `{"type":"hologram","x":1e2,"y":1.0}`) {
		t.Errorf("result %s lost an unknown content type", got["result"])
	}
}

func TestArgumentsReachTheUpstreamAsSent(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.Allow, policy.Scope{})
	arguments := `{"z":1.0,"a":9007199254740993,"text":"é\u0000<&>"}`
	r.post(map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "mcp__fix__record"},
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":`+arguments+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if diff := cmp.Diff([]string{arguments}, r.ran()); diff != "" {
		t.Error(diff)
	}
}

func TestCatalogueShowsOnlyWhatIsCallable(t *testing.T) {
	r := newRig(t)
	r.rule("echo", policy.Allow, policy.Scope{})
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.rule("slow", policy.Deny, policy.Scope{})
	session := r.client(nil)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"approval_cancel", "approval_status", "approval_wait", "identity_link_confirm", "identity_link_request", "mcp__fix__echo", "mcp__fix__record"}, names); diff != "" {
		t.Error(diff)
	}
	hidden := call(t.Context(), session, "slow", nil)
	unknown := call(t.Context(), session, "never-was", nil)
	if hidden.Err == nil || unknown.Err == nil {
		t.Fatalf("hidden: %+v, unknown: %+v, want errors", hidden, unknown)
	}
	if got, want := strings.ReplaceAll(hidden.Err.Error(), "slow", "X"), strings.ReplaceAll(unknown.Err.Error(), "never-was", "X"); got != want {
		t.Errorf("a hidden tool is answered %q, an unknown one %q", got, want)
	}
	modern := r.modern("tools/list", "", map[string]any{})
	var page struct {
		Tools      []struct{ Name string }
		CacheScope string
	}
	if err := json.Unmarshal(modern["result"], &page); err != nil || len(page.Tools) != len(list.Tools) || page.CacheScope != "private" {
		t.Errorf("modern list: %s (%v)", modern["result"], err)
	}
}

func TestFailingConditionIsDeniedWithTheRule(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.Allow, policy.Scope{Args: []policy.Condition{{Arg: "path", Match: policy.MatchGlob, Pattern: "/srv/**"}}})
	got := call(t.Context(), r.client(nil), "record", map[string]any{"path": "/etc/passwd"})
	if !got.IsError || got.Kind != "AUTHORIZATION_DENIED" {
		t.Errorf("got %+v, want AUTHORIZATION_DENIED", got)
	}
	if strings.Contains(got.Text, "/etc/passwd") {
		t.Errorf("the refusal repeats the value: %s", got.Text)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("the upstream saw %v", ran)
	}
}

func TestHeldCallRunsOnceAfterApproval(t *testing.T) {
	for _, resolution := range []policy.Resolution{policy.Single, policy.Once, policy.Persistent} {
		t.Run(string(resolution), func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{})
			done := later(t.Context(), r.client(nil), "record", map[string]any{"n": 1})
			r.decide(r.asked(approvals.Pending), true, resolution, "")
			if got := <-done; got.Err != nil || got.IsError {
				t.Fatalf("got %+v", got)
			}
			if diff := cmp.Diff([]string{`{"n":1}`}, r.ran()); diff != "" {
				t.Error(diff)
			}
			request := r.asked(approvals.Approved)
			if request.Outcome == nil || *request.Outcome != approvals.Succeeded {
				t.Errorf("outcome %v, want succeeded", request.Outcome)
			}
		})
	}
}

func TestRetryAttachesAndRunsOnce(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	args := map[string]any{"n": 1}
	for range 2 {
		got := call(t.Context(), session, "record", args)
		if got.Kind != "APPROVAL_REQUIRED" || !strings.Contains(got.Text, "holm approvals approve 1 --agent "+agentName) {
			t.Fatalf("got %+v, want APPROVAL_REQUIRED and how an operator answers", got)
		}
	}
	request := r.asked(approvals.Pending)
	if request.ShortID != 1 {
		t.Errorf("request number %d, want one request", request.ShortID)
	}
	r.decide(request, true, policy.Single, "")
	first := call(t.Context(), session, "record", args)
	second := call(t.Context(), session, "record", args)
	if first.IsError || first.Err != nil || first != second {
		t.Errorf("first %+v, second %+v, want the same result", first, second)
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %v, want once", ran)
	}
	changed := call(t.Context(), session, "record", map[string]any{"n": 2})
	if changed.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("another argument: %+v, want a question of its own", changed)
	}
}

func TestWindowAsksNoFurtherQuestion(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{Approval: &policy.ApprovalSettings{Binding: policy.BindResource}})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"n": 1})
	r.decide(r.asked(approvals.Pending), true, policy.Once, "")
	for n := range 3 {
		if got := call(t.Context(), session, "record", map[string]any{"n": n}); got.IsError || got.Err != nil {
			t.Fatalf("call %d: %+v", n, got)
		}
	}
	if ran := r.ran(); len(ran) != 3 {
		t.Errorf("ran %v, want three calls", ran)
	}
}

func TestEveryEndHasItsOwnWords(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	r.rule("crash", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "30s"})

	done := later(t.Context(), session, "record", map[string]any{"n": 1})
	r.decide(r.asked(approvals.Pending), false, "", "not today")
	rejected := <-done
	if rejected.Kind != "APPROVAL_REJECTED" || !strings.Contains(rejected.Text, "not today") {
		t.Errorf("rejected: %+v", rejected)
	}
	if again := call(t.Context(), session, "record", map[string]any{"n": 1}); again.Kind != "APPROVAL_REJECTED" {
		t.Errorf("an identical ask soon after: %+v, want the same rejection", again)
	}

	done = later(t.Context(), session, "record", map[string]any{"n": 2})
	request := r.asked(approvals.Pending)
	if _, err := r.pool.Exec(t.Context(), `UPDATE approval_requests SET expires_at = now() + interval '50 milliseconds' WHERE id = $1`, request.ID); err != nil {
		t.Fatal(err)
	}
	r.hub.Publish(approvals.Key(request.ID))
	expired := <-done
	if expired.Kind != "APPROVAL_EXPIRED" || !strings.Contains(expired.Text, "Silence is not consent") {
		t.Errorf("expired: %+v", expired)
	}

	done = later(t.Context(), session, "record", map[string]any{"n": 3})
	request = r.asked(approvals.Pending)
	_, err := r.approvals.Cancel(t.Context(), approvals.Cancellation{AgentID: agentName, RequestID: request.ID, Reason: "not needed",
		Actor: approvals.Actor{Admin: true, Name: "the operator", Via: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	cancelled := <-done
	if cancelled.Kind != "APPROVAL_CANCELLED" || !strings.Contains(cancelled.Text, "withdrawn by the operator") || !strings.Contains(cancelled.Text, "not needed") {
		t.Errorf("cancelled: %+v", cancelled)
	}
	done = later(t.Context(), session, "record", map[string]any{"n": 4})
	_, err = r.approvals.Decide(t.Context(), approvals.Decision{AgentID: agentName, RequestID: r.asked(approvals.Pending).ID,
		TryDifferently: true, Reason: "a branch, not main", Actor: approvals.Actor{Admin: true, Name: "the operator", Via: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	differently := <-done
	if differently.Kind != "APPROVAL_REJECTED" || !strings.Contains(differently.Text, `the reviewer asks to try it differently: "a branch, not main"`) {
		t.Errorf("to be tried differently: %+v", differently)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("the upstream saw %v", ran)
	}

	patient := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), patient, "crash", nil)
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	call(t.Context(), patient, "crash", nil)
	unknown := call(t.Context(), patient, "crash", nil) // as whoever comes back is told
	var undelivered, capped reply
	for n := range approvals.DefaultMaxOpenPerSession {
		undelivered = call(t.Context(), patient, "record", map[string]any{"more": n})
	}
	capped = call(t.Context(), patient, "record", map[string]any{"more": "too many"})
	seen := map[string]bool{}
	for kind, text := range map[string]string{
		"rejected": rejected.Text, "to be tried differently": differently.Text, "expired": expired.Text, "cancelled": cancelled.Text,
		"unknown": unknown.Text, "undelivered": undelivered.Text, "capped": capped.Text,
	} {
		first, _, _ := strings.Cut(text, " ")
		text = strings.ToLower(text)
		answered := kind == "rejected" || kind == "to be tried differently" || kind == "cancelled" // by a word, not by silence
		if strings.Contains(text, "silence is not consent") == answered || !strings.Contains(text, "do not try to reach the same effect in another way") {
			t.Errorf("%s says %q", kind, text)
		}
		if kind != "to be tried differently" && seen[first] {
			t.Errorf("%s begins as another end does: %q", kind, first)
		}
		seen[first] = kind != "to be tried differently" || seen[first]
	}
}

// TestTheSameAnswerForFiveMinutes: what was rejected is not asked again at once,
// and may be asked again later.
func TestTheSameAnswerForFiveMinutes(t *testing.T) {
	r := newRig(t)
	r.member("olga", policy.Owner) // whom cards go to
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	args := map[string]any{"n": 1}
	call(t.Context(), session, "record", args)
	request := r.asked(approvals.Pending)
	r.decide(request, false, "", "not today")
	requests := func() (asked, cards int) {
		err := r.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM approval_requests), (SELECT count(*) FROM card_deliveries)`).Scan(&asked, &cards)
		if err != nil {
			t.Fatal(err)
		}
		return asked, cards
	}
	for _, from := range []*mcp.ClientSession{session, session, r.client(map[string]string{"Holm-Hold": "0s"})} {
		if got := call(t.Context(), from, "record", args); got.Kind != "APPROVAL_REJECTED" || !strings.Contains(got.Text, "not today") {
			t.Errorf("asked again at once: %+v", got)
		}
	}
	if asked, cards := requests(); asked != 1 || cards != 1 {
		t.Errorf("%d requests and %d cards, want one of each", asked, cards)
	}
	if _, err := r.pool.Exec(t.Context(), `UPDATE approval_requests SET resolved_at = resolved_at - interval '5 minutes' WHERE id = $1`, request.ID); err != nil {
		t.Fatal(err)
	}
	if got := call(t.Context(), session, "record", args); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("asked again later: %+v", got)
	}
	if asked, cards := requests(); asked != 2 || cards != 2 {
		t.Errorf("%d requests and %d cards, want two of each", asked, cards)
	}
}

func TestDenyThatAppearsWhileWaitingWins(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	done := later(t.Context(), r.client(nil), "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	r.rule("record", policy.Deny, policy.Scope{})
	r.decide(request, true, policy.Single, "")
	if got := <-done; got.Kind != "AUTHORIZATION_DENIED" || !strings.Contains(got.Text, "deny on tool mcp__fix__record") {
		t.Errorf("got %+v, want a refusal that names the rule", got)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("the upstream saw %v", ran)
	}
	if now := r.get(request); !now.Unclaimed() || now.Stopped == nil || !strings.Contains(*now.Stopped, "deny on tool mcp__fix__record") {
		t.Errorf("the request says %v", now.Stopped)
	}
}

func TestKeyRevokedWhileWaitingRunsNothing(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(nil)
	done := later(t.Context(), session, "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	r.tx(func(tx pgx.Tx) error {
		_, err := identity.RotateKeys(context.Background(), tx, agentName, "test")
		return err
	})
	r.hub.Publish(identity.KeysChanged)
	r.keyring.Forget()
	r.decide(request, true, policy.Single, "")
	if got := <-done; got.Err == nil {
		t.Errorf("got %+v, want an error", got)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("the upstream saw %v", ran)
	}
	if status, _ := r.post(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != http.StatusUnauthorized {
		t.Errorf("a call with the revoked key: status %d, want 401", status)
	}
}

func TestApproverWhoLostTheRoleApprovesNothing(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	ctx := t.Context()
	var owner identity.User
	r.tx(func(tx pgx.Tx) (err error) {
		if owner, err = identity.EnsureUser(ctx, tx, identity.Address{Channel: "x", Identity: "1"}, "Olga"); err != nil {
			return err
		}
		return identity.Join(ctx, tx, agentName, owner.ID, policy.Owner, "test")
	})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(ctx, session, "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	if _, err := r.approvals.Decide(ctx, approvals.Decision{AgentID: agentName, RequestID: request.ID, Approve: true,
		Resolution: policy.Single, Actor: approvals.Actor{UserID: owner.ID, Name: "Olga", Via: "x"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pool.Exec(ctx, `UPDATE agent_members SET role = 'guest' WHERE user_id = $1`, owner.ID); err != nil {
		t.Fatal(err)
	}
	if got := call(ctx, session, "record", map[string]any{"n": 1}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("got %+v, want a new question", got)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("the upstream saw %v", ran)
	}
}

func TestConcurrentRetriesRunOnce(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	const callers = 20
	var waiting []<-chan reply
	for range callers {
		waiting = append(waiting, later(t.Context(), r.client(nil), "record", map[string]any{"n": 1}))
	}
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	for _, done := range waiting {
		if got := <-done; got.Err != nil || got.IsError {
			t.Errorf("got %+v", got)
		}
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %d times, want once", len(ran))
	}
}

func TestCrashedUpstreamIsAnUnknownOutcomeAndNotRepeated(t *testing.T) {
	r := newRig(t)
	r.rule("crash", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "crash", nil)
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	if got := call(t.Context(), session, "crash", nil); got.Kind != "OUTCOME_UNKNOWN" {
		t.Errorf("got %+v, want OUTCOME_UNKNOWN", got)
	}
	if request := r.asked(approvals.Approved); request.Outcome == nil || *request.Outcome != approvals.Unknown {
		t.Errorf("outcome %v, want unknown", request.Outcome)
	}
}

// TestTwoSessionsOneQuestion: the same call from two sessions has one answer and
// one execution, and each session hears of both.
func TestTwoSessionsOneQuestion(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	args := map[string]any{"n": 1}
	first := later(t.Context(), r.client(nil), "record", args)
	question := r.asked(approvals.Pending)
	later2 := r.client(map[string]string{"Holm-Hold": "0s"})
	if got := call(t.Context(), later2, "record", args); !strings.Contains(got.Text, "request 2 ") {
		t.Fatalf("got %+v, want a request of its own", got)
	}
	r.decide(question, true, policy.Single, "")
	want := <-first
	if got := call(t.Context(), later2, "record", args); got != want || got.IsError {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %d times, want once", len(ran))
	}
}

func TestTooManyQuestionsAreCapped(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	for n := range approvals.DefaultMaxOpenPerSession {
		if got := call(t.Context(), session, "record", map[string]any{"n": n}); got.Kind != "APPROVAL_REQUIRED" {
			t.Fatalf("call %d: %+v", n, got)
		}
	}
	got := call(t.Context(), session, "record", map[string]any{"n": "one more"})
	if got.Kind != "APPROVAL_CAPPED" || !strings.Contains(got.Text, "Stop and wait") || strings.Contains(got.Text, "ejected") {
		t.Errorf("got %+v, want APPROVAL_CAPPED", got)
	}
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	if got := call(t.Context(), session, "record", map[string]any{"n": "one more"}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("after an answer: %+v", got)
	}
}

func TestServerThatIsDown(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	session := r.client(map[string]string{"Holm-Hold": "0s"})
	call(t.Context(), session, "record", map[string]any{"n": 1})
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	if _, err := r.pool.Exec(t.Context(), `UPDATE servers SET command = '{/nonexistent/server}', version = version + 1`); err != nil {
		t.Fatal(err)
	}
	r.hub.Publish("servers")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := call(t.Context(), session, "record", map[string]any{"n": 1})
		if got.Kind == "SERVER_UNAVAILABLE" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want SERVER_UNAVAILABLE", got)
		}
	}
}

func TestRefusedMessages(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.Allow, policy.Scope{})
	cases := map[string]struct {
		headers map[string]string
		body    string
		status  int
		want    string
	}{
		"no JSON":             {body: `{"jsonrpc":`, status: 400, want: "-32700"},
		"batch":               {body: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, status: 400, want: "batches"},
		"duplicate keys":      {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":{"a":1,"a":2}}}`, status: 400, want: "-32600"},
		"too large":           {body: `{"x":"` + strings.Repeat("a", 5<<20) + `"}`, status: 413, want: "4 MiB"},
		"wrong key":           {headers: map[string]string{"Authorization": "Bearer holm_sk_aaaaaaaa_x"}, body: `{}`, status: 401, want: "not valid"},
		"no key":              {headers: map[string]string{"Authorization": ""}, body: `{}`, status: 401, want: "required"},
		"unknown session":     {headers: map[string]string{"Mcp-Session-Id": "nope"}, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, status: 404, want: "session"},
		"forged exchange":     {headers: map[string]string{"Holm-Exchange": "1"}, body: `{"jsonrpc":"2.0","id":1,"method":"nope"}`, status: 400, want: ""},
		"arguments no object": {headers: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "mcp__fix__record"}, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":[1],"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, status: 400, want: "-32602"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, body := r.post(c.headers, c.body)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("status %d, body %.200s; want %d with %q", status, body, c.status, c.want)
			}
		})
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("the upstream saw %v", ran)
	}
}

func TestForeignKeyCannotUseASession(t *testing.T) {
	r := newRig(t)
	session := r.client(nil)
	var other string
	r.tx(func(tx pgx.Tx) (err error) {
		other, err = identity.CreateKey(context.Background(), tx, agentName, "", nil, "test")
		return err
	})
	status, _ := r.post(map[string]string{"Mcp-Session-Id": session.ID(), "Authorization": "Bearer " + other},
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if status != http.StatusUnauthorized {
		t.Errorf("status %d, want 401", status)
	}
}

func TestCallerWhoLeftRunsNothing(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	ctx, leave := context.WithCancel(t.Context())
	done := later(ctx, r.client(nil), "record", map[string]any{"n": 1})
	request := r.asked(approvals.Pending)
	leave()
	if got := <-done; got.Err == nil {
		t.Fatalf("got %+v, want the caller's own cancellation", got)
	}
	r.decide(request, true, policy.Single, "")
	retry := call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
	if retry.Err != nil || retry.IsError {
		t.Errorf("the retry: %+v", retry)
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %v, want once, by the retry", ran)
	}
}

func TestWaitingCallShowsSignsOfLife(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__fix__record","arguments":{},"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + r.key, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "mcp__fix__record"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	// The headers and the first comment are here while the request is still open.
	b := make([]byte, 32)
	n, err := resp.Body.Read(b)
	if err != nil || !strings.HasPrefix(string(b[:n]), ": waiting") {
		t.Errorf("read %q, %v", b[:n], err)
	}
	r.decide(r.asked(approvals.Pending), false, "", "")
}

func TestRestartLosesNoRequest(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
	r.decide(r.asked(approvals.Pending), true, policy.Single, "")
	r.stop()
	r.boot()
	got := call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 1})
	if got.Err != nil || got.IsError {
		t.Errorf("got %+v", got)
	}
	if ran := r.ran(); len(ran) != 1 {
		t.Errorf("ran %v, want once", ran)
	}
}
