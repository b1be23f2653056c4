package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holm/approvals"
	"holm/internal/identity"
	"holm/policy"
)

func reviewPath(r approvals.Request) string {
	return "/api/agents/" + r.AgentID + "/approvals/" + r.ID + "/review"
}

func TestOperatorDecides(t *testing.T) {
	w := start(t)
	w.agent("main")
	for _, c := range []struct{ body, status, resolution, reason string }{
		{`{"decision":"approved"}`, "approved", "once", ""},
		{`{"decision":"approved","resolution":"single"}`, "approved", "single", ""},
		{`{"decision":"approved","resolution":"persistent","extent":"arguments"}`, "approved", "persistent", ""},
		{`{"decision":"rejected","reason":"not on a Friday"}`, "rejected", "", "not on a Friday"},
		{`{"decision":"rejected","tryDifferently":true}`, "rejected", "", ""},
	} {
		r := w.ask("main", "agent:main", fmt.Sprintf(`{"case":%q}`, c.body))
		var got approvals.Wire
		w.admin("POST", reviewPath(r), c.body).is(200).into(&got)
		if got.ID != r.ID || string(got.Status) != c.status || text(got.Resolution) != c.resolution ||
			text(got.Reason) != c.reason || text(got.ResolvedBy) != "admin" || text(got.ResolvedVia) != "api" ||
			got.TryDifferently != strings.Contains(c.body, "tryDifferently") {
			t.Errorf("%s: got %+v", c.body, got)
		}
	}
}

func text[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

func TestDecideByNumber(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	path := fmt.Sprintf("/api/agents/main/approvals/by-short/%d", r.ShortID)
	if got := w.admin("GET", path, "").is(200).field("id"); got != r.ID {
		t.Errorf("number %d is %s, want %s", r.ShortID, got, r.ID)
	}
	w.admin("POST", path+"/review", `{"decision":"rejected"}`, "User-Agent", "holm-cli/1").is(200)
	got, err := approvals.Get(t.Context(), w.pool, "main", r.ID)
	if err != nil || got.Status != approvals.Rejected || *got.ResolvedVia != "cli" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.admin("POST", "/api/agents/main/approvals/by-short/99/review", `{"decision":"approved"}`).is(404, "not_found")
	w.admin("GET", "/api/agents/main/approvals/by-short/0", "").is(422)
	w.admin("GET", "/api/agents/main/approvals/by-short/99999999999", "").is(422)
}

func TestTheSecondDecisionIsAConflict(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	w.admin("POST", reviewPath(r), `{"decision":"approved","resolution":"single"}`).is(200)
	var conflict struct {
		Status                                                       int
		Code, Decision, Resolution, ResolvedBy, ResolvedName, Detail string
		ResolvedAt                                                   time.Time
	}
	w.admin("POST", reviewPath(r), `{"decision":"rejected"}`).is(409, "already_decided").into(&conflict)
	if conflict.Status != 409 || conflict.Decision != "approved" || conflict.Resolution != "single" ||
		conflict.ResolvedBy != "admin" || conflict.ResolvedName == "" || conflict.ResolvedAt.IsZero() {
		t.Errorf("got %+v; want who, when and what", conflict)
	}
}

func TestTwentyDecisionsAtOnce(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	var mu sync.Mutex
	count := map[int]int{}
	var wg sync.WaitGroup
	for i := range 20 {
		body := `{"decision":"approved"}`
		if i%2 == 1 {
			body = `{"decision":"rejected"}`
		}
		wg.Go(func() {
			got := w.admin("POST", reviewPath(r), body)
			mu.Lock()
			count[got.status]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if count[200] != 1 || count[409] != 19 {
		t.Errorf("got %v, want one 200 and nineteen 409", count)
	}
}

func TestAnExpiredRequestIsGone(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	w.expire(r)
	for _, token := range []string{adminToken, key} {
		if got := w.as(token, "GET", "/api/agents/main/approvals/"+r.ID, "").is(200).field("status"); got != "expired" {
			t.Errorf("status %q on read, want expired", got)
		}
	}
	w.admin("POST", reviewPath(r), `{"decision":"approved"}`).is(410, "expired")
	w.admin("POST", reviewPath(r), `{"decision":"approved"}`).is(410, "expired")
}

// expire moves the deadline of a request into the past.
func (w *world) expire(r approvals.Request) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), `UPDATE approval_requests SET expires_at = now() - interval '1 second' WHERE id = $1`, r.ID); err != nil {
		w.t.Fatal(err)
	}
}

func TestReadingDecidesNothing(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	w.admin("GET", reviewPath(r), "").is(405, "method_not_allowed")
	w.admin("GET", reviewPath(r)+"?decision=approved", "").is(405)
	w.admin("HEAD", "/api/agents/main/approvals/"+r.ID, "")
	w.stillPending(r)
}

func (w *world) stillPending(r approvals.Request) {
	w.t.Helper()
	got, err := approvals.Get(w.t.Context(), w.pool, r.AgentID, r.ID)
	if err != nil || got.Status != approvals.Pending {
		w.t.Errorf("request is %s, %v; want pending", got.Status, err)
	}
}

func TestDecisionsThatCannotBeUsed(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	for _, c := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"no body", ``, 400, "bad_request"},
		{"no JSON", `{"decision":`, 400, "bad_json"},
		{"two values", `{"decision":"approved"} {"decision":"approved"}`, 400, "bad_json"},
		{"a key twice", `{"decision":"rejected","decision":"approved"}`, 400, "bad_json"},
		{"null", `null`, 422, "invalid"},
		{"list", `[]`, 422, "invalid"},
		{"empty", `{}`, 422, "invalid"},
		{"other case", `{"Decision":"approved"}`, 422, "invalid"},
		{"unknown word", `{"decision":"maybe"}`, 422, "invalid"},
		{"number", `{"decision":1}`, 422, "invalid"},
		{"unknown property", `{"decision":"approved","force":true}`, 422, "invalid"},
		{"unknown resolution", `{"decision":"approved","resolution":"forever"}`, 422, "invalid"},
		{"rejection with resolution", `{"decision":"rejected","resolution":"once"}`, 422, "invalid"},
		{"an approval to be tried differently", `{"decision":"approved","tryDifferently":true}`, 422, "invalid"},
		{"extent without persistent", `{"decision":"approved","extent":"tool"}`, 422, "invalid"},
		{"long reason", `{"decision":"rejected","reason":"` + strings.Repeat("x", 1001) + `"}`, 422, "invalid"},
		{"unstorable reason", `{"decision":"rejected","reason":"a\u0000b"}`, 422, "invalid"},
		{"large", `{"decision":"rejected","reason":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.in(t).admin("POST", reviewPath(r), c.body).is(c.status, c.code)
			w.in(t).stillPending(r)
		})
	}
	w.admin("POST", reviewPath(r), `{"decision":"approved"}`, "Content-Type", "text/xml").is(415)
}

func TestRejectedValuesAreNotRepeated(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	for _, body := range []string{
		`{"decision":"s3cret"}`, `{"decision":{"s3cret":"s3cret"}}`, `{"decision":"approved","button":["s3cret"]}`,
		`s3cret`, `{"decision":"s3cret`, `["s3cret"]`, `"s3cret"`, `{"decision":"approved","resolution":"s3cret"}`,
	} {
		if got := w.admin("POST", reviewPath(r), body); got.status < 400 || strings.Contains(got.body, "s3cret") {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	got := w.admin("POST", "/api/servers", `{"name":"git","url":"s3cret://x","env":{"s3cret":1}}`)
	if got.status != 422 || strings.Contains(strings.ReplaceAll(got.body, "body.env.s3cret", ""), "s3cret") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestOnlyWhatTheRuleOffers(t *testing.T) {
	w := start(t)
	w.agent("main")
	r := w.ask("main", "agent:main", `{}`)
	if _, err := w.pool.Exec(t.Context(), `UPDATE approval_requests SET settings = '{"resolutions":["single"],"binding":"arguments"}' WHERE id = $1`, r.ID); err != nil {
		t.Fatal(err)
	}
	w.admin("POST", reviewPath(r), `{"decision":"approved"}`).is(422, "resolution_not_offered")
	w.admin("POST", reviewPath(r), `{"decision":"approved","resolution":"persistent"}`).is(422, "resolution_not_offered")
	w.admin("POST", reviewPath(r), `{"decision":"approved","resolution":"single"}`).is(200)
}

func TestAKeyNeverDecides(t *testing.T) {
	w := start(t)
	w.agent("main")
	owner := w.person(identity.Address{Channel: "matrix", Identity: "@owner"}, "main", policy.Owner)
	keys := map[string]string{
		"bare":  w.admin("POST", "/api/agents/main/keys", `{}`).is(201).field("key"),
		"owner": w.admin("POST", "/api/agents/main/keys", `{"userId":"`+owner.ID+`"}`).is(201).field("key"),
	}
	r := w.ask("main", "agent:main", `{}`)
	for _, key := range keys {
		w.as(key, "POST", reviewPath(r), `{"decision":"approved"}`).is(403, "not_a_reviewer")
		w.as(key, "POST", reviewPath(r), `{"decision":"approved"}`, "X-Channel-User-Id", "@owner").is(403, "not_a_reviewer")
		w.as(key, "POST", "/api/agents/main/approvals/by-short/1/review", `{"decision":"approved"}`).is(403, "not_a_reviewer")
		w.as(key, "POST", "/api/agents/main/approvals/by-short/77/review", `{"decision":"approved"}`).is(403, "not_a_reviewer")
	}
	w.stillPending(r)
}

// external is a channel outside with people: an owner who has a card of the
// request, another owner and a guest.
type external struct {
	*world
	token   string
	request approvals.Request
	other   approvals.Request
}

func startExternal(t *testing.T) external {
	t.Helper()
	w := start(t)
	w.agent("main")
	w.person(identity.Address{Channel: "matrix", Identity: "@owner"}, "main", policy.Owner)
	w.person(identity.Address{Channel: "matrix", Identity: "@second"}, "main", policy.Owner)
	w.person(identity.Address{Channel: "matrix", Identity: "@guest"}, "main", policy.Guest)
	w.person(identity.Address{Channel: "telegram", Identity: "77"}, "main", policy.Owner)
	token := w.admin("POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"https://adapter.example.com"}`).is(201).field("token")
	return external{world: w, token: token,
		request: w.ask("main", "agent:main", `{"a":1}`), other: w.ask("main", "agent:main", `{"a":2}`)}
}

// button gives the token of a button on the card that a recipient got.
func (e external) button(r approvals.Request, channel, person string, action approvals.Action) string {
	e.t.Helper()
	var id []byte
	err := e.pool.QueryRow(e.t.Context(), `SELECT button_id FROM card_deliveries WHERE request_id = $1 AND channel = $2 AND identity = $3`,
		r.ID, channel, person).Scan(&id)
	if err != nil {
		e.t.Fatal(err)
	}
	return approvals.ButtonToken(e.keeper, id, r, channel, person, action)
}

func (e external) press(person, body string) answer {
	e.t.Helper()
	return e.as(e.token, "POST", reviewPath(e.request), body, "X-Channel-User-Id", person)
}

func TestAChannelDecidesWithAButton(t *testing.T) {
	e := startExternal(t)
	button := e.button(e.request, "matrix", "@owner", approvals.AlwaysArguments)
	var got approvals.Wire
	e.press("@owner", `{"decision":"approved","resolution":"persistent","reason":"fine","button":"`+button+`"}`).is(200).into(&got)
	if text(got.Resolution) != "persistent" || text(got.ResolvedVia) != "matrix" || text(got.Reason) != "fine" || text(got.ResolvedBy) == "admin" {
		t.Errorf("got %+v", got)
	}
	e.press("@owner", `{"decision":"approved","button":"`+button+`"}`).is(409, "already_decided")
}

func TestAChannelCannotDecideOtherwise(t *testing.T) {
	e := startExternal(t)
	const (
		approve = approvals.ApproveCall
		owner   = "@owner"
	)
	good := e.button(e.request, "matrix", owner, approve)
	forged := "A" + good[1:]
	if forged == good {
		forged = "B" + good[1:]
	}
	for _, c := range []struct{ name, person, body, code string }{
		{"no button", owner, `{"decision":"approved"}`, "no_button"},
		{"no token of ours", owner, `{"decision":"approved","button":"abc"}`, "other_button"},
		{"forged", owner, `{"decision":"approved","button":"` + forged + `"}`, "other_button"},
		{"of another request", owner, `{"decision":"approved","button":"` + e.button(e.other, "matrix", owner, approve) + `"}`, "other_button"},
		{"of another recipient", "@second", `{"decision":"approved","button":"` + good + `"}`, "other_button"},
		{"of another channel", "77", `{"decision":"approved","button":"` + e.button(e.request, "telegram", "77", approve) + `"}`, "other_button"},
		{"by a guest", "@guest", `{"decision":"approved","button":"` + good + `"}`, "other_button"},
		{"by a stranger", "@nobody", `{"decision":"approved","button":"` + good + `"}`, "other_button"},
		{"other decision", owner, `{"decision":"rejected","button":"` + good + `"}`, "other_decision"},
		{"other resolution", owner, `{"decision":"approved","resolution":"persistent","button":"` + good + `"}`, "other_decision"},
		{"other extent", owner, `{"decision":"approved","resolution":"persistent","extent":"tool","button":"` +
			e.button(e.request, "matrix", owner, approvals.AlwaysArguments) + `"}`, "other_decision"},
		{"decides nothing", owner, `{"decision":"rejected","button":"` + e.button(e.request, "matrix", owner, approvals.ShowDetails) + `"}`, "other_decision"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e
			e.world = e.in(t)
			e.press(c.person, c.body).is(403, c.code)
			e.stillPending(e.request)
		})
	}
}

// TestNobodyApprovesUnseenOverREST: the button that an adapter presents was on a
// card that did not show all arguments.
func TestNobodyApprovesUnseenOverREST(t *testing.T) {
	e := startExternal(t)
	if _, err := e.pool.Exec(t.Context(), `
		UPDATE card_deliveries SET identity = '@blind' WHERE identity = '@owner'`); err != nil {
		t.Fatal(err)
	}
	if _, err := e.pool.Exec(t.Context(), `
		UPDATE user_identities SET channel_user_id = '@blind' WHERE channel_user_id = '@owner'`); err != nil {
		t.Fatal(err)
	}
	e.press("@blind", `{"decision":"approved","button":"`+e.button(e.request, "matrix", "@blind", approvals.ApproveCall)+`"}`).is(403, "not_shown")
	e.stillPending(e.request)
	e.press("@blind", `{"decision":"rejected","button":"`+e.button(e.request, "matrix", "@blind", approvals.Reject)+`"}`).is(200, "")
}

func TestAnOwnerWhoIsNoneAnyMoreCannotPress(t *testing.T) {
	e := startExternal(t)
	button := e.button(e.request, "matrix", "@owner", approvals.ApproveCall)
	if _, err := e.pool.Exec(t.Context(), `UPDATE agent_members SET role = 'guest'`); err != nil {
		t.Fatal(err)
	}
	e.press("@owner", `{"decision":"approved","button":"`+button+`"}`).is(403, "not_a_reviewer")
	e.stillPending(e.request)
}

func TestThePersonCountsOnlyBesideItsChannel(t *testing.T) {
	e := startExternal(t)
	key := e.admin("POST", "/api/agents/main/keys", `{}`).is(201).field("key")
	approvalsPath := "/api/agents/main/approvals"
	// A channel's token without a person, or with two, speaks for nobody.
	e.as(e.token, "GET", approvalsPath, "").is(403, "no_person")
	e.as(e.token, "GET", approvalsPath, "", "X-Channel-User-Id", "").is(403, "no_person")
	e.as(e.token, "GET", approvalsPath, "", "X-Channel-User-Id", "@guest", "X-Channel-User-Id", "@owner").is(403, "no_person")
	// The person is one of the token's namespace: 77 is an owner on telegram only.
	e.as(e.token, "GET", approvalsPath, "", "X-Channel-User-Id", "77").is(403, "unknown_person")
	e.as(e.token, "GET", approvalsPath, "", "X-Channel-User-Id", "telegram:77").is(403, "unknown_person")
	// Owners see all, guests their own, whoever the header names beside a key.
	see := func(token, person string) int {
		var list []approvals.Wire
		e.as(token, "GET", approvalsPath, "", "X-Channel-User-Id", person).is(200).into(&list)
		return len(list)
	}
	if owner, guest, byKey := see(e.token, "@owner"), see(e.token, "@guest"), see(key, "@owner"); owner != 2 || guest != 0 || byKey != 2 {
		t.Errorf("owner sees %d, guest %d, key %d", owner, guest, byKey)
	}
	e.as(key, "GET", "/api/agents/main/grants", "", "X-Channel-User-Id", "@owner").is(403)
	e.as("", "GET", approvalsPath, "", "X-Channel-User-Id", "@owner").is(401)
	// A channel manages nothing, not even for an owner.
	e.as(e.token, "GET", "/api/agents/main/policies", "", "X-Channel-User-Id", "@owner").is(403, "forbidden")
	e.as(e.token, http.MethodDelete, "/api/channels/matrix", "", "X-Channel-User-Id", "@owner").is(403, "forbidden")
}

func TestARemovedChannelEnds(t *testing.T) {
	e := startExternal(t)
	e.admin("DELETE", "/api/channels/matrix", "").is(204)
	e.as(e.token, "GET", "/api/agents/main/approvals", "", "X-Channel-User-Id", "@owner").is(401, "invalid_token")
	e.admin("DELETE", "/api/channels/matrix", "").is(404, "not_found")
}
