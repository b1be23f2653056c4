package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/db"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
	"holm/policy/rulestore"
)

// gated is the gate on REST, with agent main whose key asks.
type gated struct {
	*scripted
	t   *testing.T
	key string
}

func newGated(t *testing.T) *gated {
	t.Helper()
	s, err := startScripted(t)
	if err != nil {
		t.Fatal(err)
	}
	g := &gated{scripted: s, t: t}
	g.tx(func(ctx context.Context, tx pgx.Tx) (err error) {
		if _, err = identity.CreateAgent(ctx, tx, "main", "test"); err == nil {
			g.key, err = identity.CreateKey(ctx, tx, "main", "", nil, "test")
		}
		return err
	})
	return g
}

func (g *gated) tx(do func(ctx context.Context, tx pgx.Tx) error) {
	g.t.Helper()
	ctx := context.Background()
	if err := db.InTx(ctx, g.pool, func(tx pgx.Tx) error { return do(ctx, tx) }); err != nil {
		g.t.Fatal(err)
	}
}

// rule stores a row for everybody, through the API, so that the gate knows it.
func (g *gated) rule(resourceType, key string, effect policy.Effect, scope string) {
	g.t.Helper()
	body := fmt.Sprintf(`{"resourceType":%q,"resourceKey":%q,"effect":%q,"grants":[{"type":"any"}],"scope":%s}`, resourceType, key, effect, scope)
	if status, text := g.send(context.Background(), scriptedToken, "/policies", body); status != http.StatusCreated {
		g.t.Fatalf("%d %s", status, text)
	}
}

func (g *gated) send(ctx context.Context, token, path, body string, header ...string) (int, string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/api/agents/main"+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// enforce asks the gate and wants a status, and a code for a refusal.
func (g *gated) enforce(token, body string, want int, code string, header ...string) string {
	g.t.Helper()
	status, text := g.send(context.Background(), token, "/access/enforce", body, header...)
	if status != want || !strings.Contains(text, code) {
		g.t.Errorf("%s: %d %s, want %d %s", body, status, text, want, code)
	}
	return text
}

// asked waits for a request with the number.
func (g *gated) asked(number int) approvals.Request {
	g.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r, err := approvals.GetShort(context.Background(), g.pool, "main", number)
		if err == nil {
			return r
		}
		if time.Now().After(deadline) {
			g.t.Fatal(err)
		}
	}
}

func (g *gated) approve(number int, resolution policy.Resolution) {
	g.t.Helper()
	_, err := g.approvals.Decide(context.Background(), approvals.Decision{
		AgentID: "main", RequestID: g.asked(number).ID, Approve: true, Resolution: resolution,
		Actor: approvals.Actor{Admin: true, Name: "the operator", Via: "test"},
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

const (
	pushing = `{"resource":{"type":"tool","key":"push"},"args":{"n":1}}`
	waiting = `{"resource":{"type":"tool","key":"push"},"args":{"n":1},"wait":300}`
)

// However many wait for it, in one session or in several, an approval for one
// call lets one of them through; the others ask anew.
func TestOneApprovalLetsOneCallThrough(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "push", policy.RequireApproval, "{}")
	g.tx(func(ctx context.Context, tx pgx.Tx) error {
		return session.Ensure(ctx, tx, session.Session{ID: "api:other", AgentID: "main", Kind: session.API, RequesterID: "agent:main"})
	})
	elsewhere := strings.TrimSuffix(waiting, "}") + `,"sessionId":"api:other"}`
	const callers = 6
	answers := make(chan string, callers)
	ctx, leave := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for n := range callers {
		body := waiting
		if n%2 == 1 {
			body = elsewhere
		}
		all.Go(func() {
			_, text := g.send(ctx, g.key, "/access/enforce", body)
			answers <- text
		})
	}
	g.asked(2) // the question is shared with the other session
	g.approve(1, policy.Single)
	first := <-answers
	if !strings.Contains(first, `"decision":"allow"`) || !strings.Contains(first, g.asked(1).ID) {
		t.Errorf("got %s", first)
	}
	g.asked(3) // whoever was not let through has asked again
	leave()
	all.Wait()
	close(answers)
	for text := range answers {
		if strings.Contains(text, "allow") {
			t.Errorf("let through as well: %s", text)
		}
	}
	if r := g.asked(3); r.Status != approvals.Pending {
		t.Errorf("the question ended with its callers: %s", r.Status)
	}
}

// A caller that left is not let through; its question and the approval live on
// for the next.
// Beyond the caps nobody is asked, and the caller is told to come back later.
func TestTooManyQuestionsToTheGateAreCapped(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "push", policy.RequireApproval, "{}")
	numbered := func(n int) string { return strings.Replace(pushing, `"n":1`, fmt.Sprintf(`"n":%d`, n), 1) }
	for n := range approvals.DefaultMaxOpenPerSession {
		g.enforce(g.key, numbered(n), http.StatusConflict, "approval_required")
	}
	req, err := http.NewRequest(http.MethodPost, g.url+"/api/agents/main/access/enforce", strings.NewReader(numbered(100)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var problem struct {
		Code  string
		Scope string
		Max   int
	}
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if resp.StatusCode != http.StatusTooManyRequests || err != nil || seconds < 1 || problem.Code != "capped" ||
		problem.Scope != "session" || problem.Max != approvals.DefaultMaxOpenPerSession {
		t.Errorf("%d, Retry-After %q, %+v", resp.StatusCode, resp.Header.Get("Retry-After"), problem)
	}
	g.enforce(g.key, numbered(0), http.StatusConflict, "approval_required") // a retry still attaches
	g.approve(1, policy.Single)
	g.enforce(g.key, numbered(100), http.StatusConflict, "approval_required")
}

func TestACallerThatLeftSpendsNothing(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "push", policy.RequireApproval, "{}")
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() { defer close(left); g.send(ctx, g.key, "/access/enforce", waiting) }()
	g.asked(1)
	leave()
	<-left
	g.approve(1, policy.Single)
	g.enforce(g.key, waiting, 200, g.asked(1).ID)
}

func TestAWindowCountsItsUses(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "push", policy.RequireApproval, "{}")
	g.enforce(g.key, pushing, 409, "approval_required")
	g.approve(1, policy.Once)
	for n := range 3 {
		text := g.enforce(g.key, pushing, 200, g.asked(1).ID)
		if reportable := strings.Contains(text, "requestId"); reportable != (n == 0) {
			t.Errorf("use %d: %s", n, text)
		}
	}
	var uses int
	err := g.pool.QueryRow(t.Context(), `SELECT uses FROM approval_grants`).Scan(&uses)
	if err != nil || uses != 3 {
		t.Errorf("%d uses, error %v", uses, err)
	}
	g.enforce(g.key, `{"resource":{"type":"tool","key":"push"},"args":{"n":2}}`, 409, "approval_required")
}

func TestAnAlwaysIsAskedNoMore(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "exec", policy.Allow, "{}")
	g.rule("exec", "make", policy.RequireApproval, `{"command":"make"}`)
	const making = `{"resource":{"type":"exec","key":"make","scope":{"cwd":"/srv"}}}`
	g.enforce(g.key, making, 409, `"resourceKey":"make"`)
	g.approve(1, policy.Persistent)
	for range 2 {
		g.enforce(g.key, making, 200, `"allow"`)
	}
	g.enforce(g.key, `{"resource":{"type":"exec","key":"make","scope":{"cwd":"/tmp"}}}`, 409, "approval_required")
}

// What the agent's default asks about is the tool, so that is what an always
// opens.
func TestAnAlwaysAnswersTheDefault(t *testing.T) {
	g := newGated(t)
	g.tx(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE agents SET default_decision = 'require_approval'`)
		return err
	})
	const running = `{"resource":{"type":"exec","key":"make"},"tool":"runner"}`
	g.enforce(g.key, running, 409, "approval_required")
	g.approve(1, policy.Persistent)
	g.enforce(g.key, running, 200, `"allow"`)
}

// Each type of resource is judged as access/check judges it.
func TestEnforceJudgesBothLayers(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "exec", policy.Allow, "{}")
	g.rule("tool", "file_read", policy.Allow, `{"args":[{"arg":"path","match":"glob","pattern":"/srv/**"}]}`)
	g.rule("exec", "git *", policy.Allow, `{"command":"git *"}`)
	g.rule("file", "/srv", policy.Allow, `{"mode":"read"}`)
	g.rule("file", "/srv/secret", policy.Deny, `{"mode":"*"}`)
	g.rule("mcp", "web", policy.Allow, "{}")
	for body, want := range map[string]int{
		`{"resource":{"type":"exec","key":"git  status"}}`:                                             200,
		`{"resource":{"type":"exec","key":"git status; rm x"}}`:                                        403,
		`{"resource":{"type":"exec","key":"git status"},"tool":"other"}`:                               403,
		`{"resource":{"type":"file","key":"/srv/./a","scope":{"mode":"read"}}}`:                        200,
		`{"resource":{"type":"file","key":"/srv/a","scope":{"mode":"write"}}}`:                         403,
		`{"resource":{"type":"file","key":"/srv/secret/a","scope":{"mode":"read"}}}`:                   403,
		`{"resource":{"type":"file","key":"a","scope":{"mode":"read"}}}`:                               422,
		`{"resource":{"type":"file","key":"/srv/a","scope":{"mode":"read"}},"args":{"path":"/srv/b"}}`: 422,
		`{"resource":{"type":"exec","key":"git status"},"args":{"command":"git log"}}`:                 422,
		`{"resource":{"type":"exec","key":"git status"},"args":[]}`:                                    422,
		`{"resource":{"type":"tool","key":"exec"},"args":{"command":"git status"}}`:                    200,
		`{"resource":{"type":"tool","key":"exec"},"args":{"command":"rm -r /"}}`:                       403,
		`{"resource":{"type":"tool","key":"exec"}}`:                                                    403,
		`{"resource":{"type":"tool","key":"exec"},"args":{"command":null}}`:                            403,
		`{"resource":{"type":"tool","key":"file_read"},"args":{"path":"/srv/a"}}`:                      200,
		`{"resource":{"type":"tool","key":"file_read"},"args":{"path":"/srv/secret/a"}}`:               403,
		`{"resource":{"type":"tool","key":"file_read"}}`:                                               403,
		`{"resource":{"type":"mcp","key":"web"},"tool":"get"}`:                                         200,
		`{"resource":{"type":"mcp","key":"web"}}`:                                                      422,
		`{"resource":{"type":"tool","key":"mcp__web__get"}}`:                                           403,
		`{"resource":{"type":"tool","key":"push"},"wait":301}`:                                         422,
	} {
		code := map[int]string{200: `"allow"`, 403: "access_denied", 422: "invalid"}[want]
		g.enforce(g.key, body, want, code)
	}
}

// A key speaks for itself; an owner and the operator may name somebody.
func TestWhoACallIsPutToTheGateFor(t *testing.T) {
	g := newGated(t)
	var olga, guest identity.User
	var channel string
	g.tx(func(ctx context.Context, tx pgx.Tx) (err error) {
		if olga, err = identity.EnsureUser(ctx, tx, identity.Address{Channel: "matrix", Identity: "@o"}, "Olga"); err != nil {
			return err
		}
		if guest, err = identity.EnsureUser(ctx, tx, identity.Address{Channel: "matrix", Identity: "@g"}, "Gus"); err != nil {
			return err
		}
		if err = identity.Join(ctx, tx, "main", olga.ID, policy.Owner, "test"); err != nil {
			return err
		}
		if err = identity.Join(ctx, tx, "main", guest.ID, policy.Guest, "test"); err != nil {
			return err
		}
		if _, err = rulestore.Put(ctx, tx, policy.Row{AgentID: "main", ResourceType: "tool", ResourceKey: "owned", Effect: policy.Allow,
			Grants: []policy.Grant{policy.ToRole(policy.Owner)}}, "test"); err != nil {
			return err
		}
		channel, err = identity.CreateChannel(ctx, tx, "main", "matrix", "https://adapter.example.com", 0, "test")
		return err
	})
	g.rule("tool", "asked", policy.RequireApproval, "{}")
	question := func(more string) string { return `{"resource":{"type":"tool","key":"owned"}` + more + `}` }
	as := func(id string) string { return fmt.Sprintf(`,"principal":{"userId":%q}`, id) }
	g.enforce(g.key, question(""), 403, "access_denied")
	g.enforce(g.key, question(as(olga.ID)), 403, "other_principal")
	g.enforce(g.key, question(`,"principal":{}`), 403, "other_principal")
	g.enforce(scriptedToken, question(""), 403, "access_denied")
	g.enforce(scriptedToken, question(as(olga.ID)), 200, `"allow"`)
	g.enforce(scriptedToken, question(as(guest.ID)), 403, "access_denied")
	g.enforce(scriptedToken, question(as("nobody")), 404, "not_found")
	g.enforce(scriptedToken, question(`,"principal":{"role":"owner"}`), 422, "invalid")
	g.enforce(channel, question(""), 200, `"allow"`, "X-Channel-User-Id", "@o")
	g.enforce(channel, question(as(guest.ID)), 403, "access_denied", "X-Channel-User-Id", "@o")
	g.enforce(channel, question(as(olga.ID)), 403, "forbidden", "X-Channel-User-Id", "@g")
	g.enforce(channel, question(""), 403, "forbidden", "X-Channel-User-Id", "@stranger")

	asking := func(more string) string { return `{"resource":{"type":"tool","key":"asked"}` + more + `}` }
	g.enforce(scriptedToken, asking(as(guest.ID)), 409, `"requesterId":"`+guest.ID+`"`)
	g.enforce(g.key, asking(""), 409, `"requesterId":"agent:main"`)
	g.enforce(g.key, asking(`,"sessionId":"api:main:`+guest.ID+`"`), 404, "no_session")
	g.tx(func(ctx context.Context, tx pgx.Tx) error {
		return session.Ensure(ctx, tx, session.Session{ID: "mcp:other", AgentID: "main", Kind: session.MCP, RequesterID: "agent:main", KeyPrefix: "aaaaaaaa"})
	})
	g.enforce(g.key, asking(`,"sessionId":"mcp:other"`), 404, "no_session")
	g.enforce(scriptedToken, asking(`,"sessionId":"mcp:other","args":{"n":2}`), 409, `"sessionId":"mcp:other"`)
}

// Who may decide a request sees it, and tells nothing of a call that others run.
func TestAReviewerReportsNoOutcome(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "push", policy.RequireApproval, `{"approval":{"approvers":[{"type":"role","value":"guest"}]}}`)
	var reviewer string
	g.tx(func(ctx context.Context, tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: "matrix", Identity: "@g"}, "Gus")
		if err != nil {
			return err
		}
		if err := identity.Join(ctx, tx, "main", user.ID, policy.Guest, "test"); err != nil {
			return err
		}
		reviewer, err = identity.CreateKey(ctx, tx, "main", user.ID, nil, "test")
		return err
	})
	g.enforce(g.key, pushing, 409, "approval_required")
	g.approve(1, policy.Single)
	g.enforce(g.key, pushing, 200, "requestId")
	path := "/access/enforce/" + g.asked(1).ID + "/outcome"
	if status, text := g.send(t.Context(), reviewer, path, `{"outcome":"succeeded"}`); status != http.StatusForbidden {
		t.Errorf("a reviewer reports: %d %s", status, text)
	}
	if status, text := g.send(t.Context(), g.key, path, `{"outcome":"failed"}`); status != http.StatusOK {
		t.Errorf("who ran it cannot report any more: %d %s", status, text)
	}
}

// Only who asked, an owner and the operator report an outcome; and what the gate
// decided is on record.
func TestOutcomesAndRecordsOfTheGate(t *testing.T) {
	g := newGated(t)
	g.rule("tool", "push", policy.RequireApproval, "{}")
	g.rule("tool", "free", policy.Allow, "{}")
	g.enforce(g.key, `{"resource":{"type":"tool","key":"free"}}`, 200, `{"decision":"allow"}`)
	g.enforce(g.key, pushing, 409, "approval_required")
	g.approve(1, policy.Single)
	var p struct{ RequestID string }
	if err := json.Unmarshal([]byte(g.enforce(g.key, pushing, 200, "requestId")), &p); err != nil {
		t.Fatal(err)
	}
	other := ""
	g.tx(func(ctx context.Context, tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: "matrix", Identity: "@u"}, "Uta")
		if err != nil {
			return err
		}
		if err := identity.Join(ctx, tx, "main", user.ID, policy.Guest, "test"); err != nil {
			return err
		}
		other, err = identity.CreateKey(ctx, tx, "main", user.ID, nil, "test")
		return err
	})
	path := "/access/enforce/" + p.RequestID + "/outcome"
	for _, c := range []struct {
		token, body string
		want        int
	}{
		{other, `{"outcome":"failed"}`, 404},
		{g.key, `{"outcome":"outcome_unknown"}`, 422},
		{g.key, `{"outcome":"succeeded","message":"done"}`, 200},
		{g.key, `{"outcome":"succeeded"}`, 200},
		{scriptedToken, `{"outcome":"failed"}`, 409},
	} {
		if status, text := g.send(t.Context(), c.token, path, c.body); status != c.want {
			t.Errorf("%s: %d %s, want %d", c.body, status, text, c.want)
		}
	}
	for n := 1; n > 0; {
		var err error
		if n, err = (&audit.Chainer{Pool: g.pool}).Chain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	calls, _, err := audit.LastCalls(t.Context(), g.pool, audit.CallFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s %s %s", c.Actor, c.Tool, c.Status))
	}
	want := "agent:main free allowed, agent:main push approval, agent:main push allowed"
	if strings.Join(got, ", ") != want {
		t.Errorf("the log has %s, want %s", strings.Join(got, ", "), want)
	}
}

// With the agent's own key and the session of a conversation a call is that of
// the person who wrote there, until the conversation has ended.
func TestACallIsPutToTheGateForWhoIsAnswered(t *testing.T) {
	g := newGated(t)
	chat := session.Session{ID: "chat:1", AgentID: "main", Kind: session.Chat}
	var bound string
	g.tx(func(ctx context.Context, tx pgx.Tx) error {
		user, err := identity.EnsureUser(ctx, tx, identity.Address{Channel: "matrix", Identity: "@g"}, "Gus")
		if err != nil {
			return err
		}
		chat.RequesterID = user.ID
		if err := identity.Join(ctx, tx, "main", user.ID, policy.Guest, "test"); err != nil {
			return err
		}
		if _, err = rulestore.Put(ctx, tx, policy.Row{AgentID: "main", ResourceType: "tool", ResourceKey: "guests", Effect: policy.Allow,
			Grants: []policy.Grant{policy.ToRole(policy.Guest)}}, "test"); err != nil {
			return err
		}
		if bound, err = identity.CreateKey(ctx, tx, "main", user.ID, nil, "test"); err != nil {
			return err
		}
		if err := session.Ensure(ctx, tx, chat); err != nil {
			return err
		}
		_, err = session.Post(ctx, tx, nil, chat, user.ID, session.Message{Text: "push it"})
		return err
	})
	g.rule("tool", "push", policy.RequireApproval, "{}")
	named := func(tool, session, more string) string {
		return fmt.Sprintf(`{"resource":{"type":"tool","key":%q},"sessionId":%q%s}`, tool, session, more)
	}
	g.enforce(g.key, `{"resource":{"type":"tool","key":"guests"}}`, 403, "access_denied")
	g.enforce(g.key, named("guests", chat.ID, ""), 200, `"allow"`)
	g.enforce(bound, named("guests", chat.ID, ""), 200, `"allow"`)
	for _, odd := range []string{"chat:2", "chat 1", strings.Repeat("x", 10_000), "chat:é"} {
		g.enforce(g.key, named("guests", odd, ""), 404, "no_session")
	}
	g.enforce(g.key, `{"resource":{"type":"tool","key":"guests"},"sessionId":"chat:1\u0000"}`, 404, "no_session")
	g.enforce(scriptedToken, named("guests", chat.ID, ""), 404, "no_session")

	// Its request is the person's, which the agent's own key may see and report.
	g.enforce(g.key, named("push", chat.ID, ""), 409, `"requesterId":"`+chat.RequesterID+`"`)
	request := g.asked(1)
	if request.SessionID != chat.ID || request.RequesterName != "Gus (guest)" || request.ByKey != strings.Split(g.key, "_")[2] {
		t.Errorf("asked %+v", request)
	}
	g.approve(1, policy.Single)
	g.enforce(g.key, `{"resource":{"type":"tool","key":"push"}}`, 409, `"shortId":2`)
	g.enforce(bound, named("push", chat.ID, ""), 409, `"shortId":3`)
	g.enforce(g.key, named("push", chat.ID, ""), 200, request.ID)
	path := "/access/enforce/" + request.ID + "/outcome"
	if status, text := g.send(t.Context(), g.key, path, `{"outcome":"succeeded"}`); status != http.StatusOK || !strings.Contains(text, `"byKey"`) {
		t.Errorf("the report: %d %s", status, text)
	}

	// What waits when the conversation ends is not let through.
	answers := make(chan string, 2)
	for n, key := range []string{g.key, bound} {
		go func() {
			status, text := g.send(context.Background(), key, "/access/enforce", named("push", chat.ID, fmt.Sprintf(`,"args":{"n":%d},"wait":300`, n+2)))
			answers <- fmt.Sprint(status, text)
		}()
		g.asked(n + 4)
	}
	g.tx(func(ctx context.Context, tx pgx.Tx) error { return session.End(ctx, tx, chat.ID) })
	for n := range 2 {
		g.approve(n+4, policy.Single)
		if got := <-answers; !strings.Contains(got, "no_session") {
			t.Errorf("after the end: %s", got)
		}
	}
	g.enforce(g.key, named("guests", chat.ID, ""), 404, "no_session")
	g.enforce(bound, named("guests", chat.ID, ""), 404, "no_session")
}
