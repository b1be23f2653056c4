package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holm/approvals"
	"holm/internal/audit"
	"holm/internal/db/dbtest"
	"holm/internal/fault"
	"holm/internal/identity"
	"holm/internal/session"
	"holm/policy"
)

// talks makes a person with a chat session in which they have written.
func (r *rig) talks(name string, role policy.Role) session.Session {
	r.t.Helper()
	s := r.person(name, role)
	r.exec(`INSERT INTO chats (session_id, agent_id, channel, identity) VALUES ($1, $2, 'chat', $3)`, s.ID, agentName, name)
	r.says(s, "do it")
	return s
}

func (r *rig) says(s session.Session, text string) {
	r.t.Helper()
	r.tx(func(tx pgx.Tx) error {
		_, err := session.Post(context.Background(), tx, nil, s, s.RequesterID, session.Message{Text: text})
		return err
	})
}

func (r *rig) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.pool.Exec(context.Background(), sql, args...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) ensure(s session.Session) session.Session {
	r.t.Helper()
	s.AgentID = agentName
	if err := session.Ensure(context.Background(), r.pool, s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func in(s session.Session) map[string]string {
	return map[string]string{"Holm-Session": s.ID, "Holm-Hold": "0s"}
}

// waiting are headers of a call that is held until it is answered.
func waiting(s session.Session) map[string]string {
	return map[string]string{"Holm-Session": s.ID, "Holm-Hold": "10m"}
}

// permit lets a role call a tool of the fixture.
func (r *rig) permit(tool string, role policy.Role) {
	r.t.Helper()
	r.put(policy.Row{ResourceType: policy.TypeTool, ResourceKey: "mcp__fix__" + tool, Effect: policy.Allow, Grants: []policy.Grant{policy.ToRole(role)}})
}

// switching is a client whose header changes between calls.
type switching struct {
	mu      sync.Mutex
	key     string
	session string
}

func (s *switching) to(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
}

func (s *switching) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Holm-Hold", "0s")
	if s.session != "" {
		r.Header.Set("Holm-Session", s.session)
	}
	s.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// Each call of one connection acts for the person of the session that it names,
// and for the agent alone where it names none.
func TestEachCallActsForWhomItNames(t *testing.T) {
	r := newRig(t)
	gus, una := r.talks("gus", policy.Guest), r.talks("una", policy.User)
	r.permit("record", policy.Guest)
	r.permit("echo", policy.User)
	who := &switching{key: r.key}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: r.url, HTTPClient: &http.Client{Transport: who}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ofFixture := func() (names []string) {
		for _, name := range tools(t, s) {
			if tool, ok := strings.CutPrefix(name, "mcp__fix__"); ok {
				names = append(names, tool)
			}
		}
		return names
	}
	for _, c := range []struct {
		session string
		sees    []string
	}{{gus.ID, []string{"record"}}, {una.ID, []string{"echo"}}, {"", nil}, {gus.ID, []string{"record"}}} {
		who.to(c.session)
		if diff := cmp.Diff(c.sees, ofFixture()); diff != "" {
			t.Errorf("in session %q (-want +got): %s", c.session, diff)
		}
		for _, tool := range []string{"record", "echo"} {
			got := call(t.Context(), s, tool, map[string]any{"session": c.session})
			if may := slices.Contains(c.sees, tool); may != (got.Err == nil && !got.IsError) {
				t.Errorf("%s in session %q: %+v", tool, c.session, got)
			}
		}
	}
	want := []string{fmt.Sprintf(`{"session":%q}`, gus.ID), fmt.Sprintf(`{"session":%q}`, gus.ID)}
	if diff := cmp.Diff(want, r.ran()); diff != "" {
		t.Errorf("ran: %s", diff)
	}
}

func TestModernCallsActForWhomTheyName(t *testing.T) {
	r := newRig(t)
	gus := r.talks("gus", policy.Guest)
	r.permit("record", policy.Guest)
	params := func() map[string]any {
		return map[string]any{"name": "mcp__fix__record", "arguments": map[string]any{"n": 1}}
	}
	if got := r.modern("tools/call", "mcp__fix__record", params()); got["error"] == nil {
		t.Errorf("the key alone: %s", got["result"])
	}
	got := r.modernWith(map[string]string{"Holm-Session": gus.ID}, "tools/call", "mcp__fix__record", params())
	if got["error"] != nil || !strings.Contains(string(got["result"]), "recorded") {
		t.Errorf("for gus: %s %s", got["error"], got["result"])
	}
	list := r.modernWith(map[string]string{"Holm-Session": gus.ID}, "tools/list", "", map[string]any{})
	if !strings.Contains(string(list["result"]), `"mcp__fix__record"`) {
		t.Errorf("gus sees %s", list["result"])
	}
	list = r.modernWith(map[string]string{"Holm-Session": "chat:nobody"}, "tools/list", "", map[string]any{})
	if list["result"] != nil || !strings.Contains(string(list["error"]), "Holm-Session") {
		t.Errorf("of an unknown session: %s %s", list["error"], list["result"])
	}
}

// TestSessionsThatNoCallMayName: one answer for all, and never the key alone
// instead.
func TestSessionsThatNoCallMayName(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	r.rule("record", policy.Allow, policy.Scope{})
	gus, una := r.talks("gus", policy.Guest), r.talks("una", policy.User)
	r.tx(func(tx pgx.Tx) error {
		if _, err := identity.CreateAgent(ctx, tx, "other", "test"); err != nil {
			return err
		}
		return identity.Join(ctx, tx, "other", gus.RequesterID, policy.Guest, "test")
	})
	foreign := session.Session{ID: "chat:foreign", AgentID: "other", Kind: session.Chat, RequesterID: gus.RequesterID}
	if err := session.Ensure(ctx, r.pool, foreign); err != nil {
		t.Fatal(err)
	}
	r.says(foreign, "hello")
	ended, gone, silent := r.talks("ed", policy.User), r.talks("lea", policy.User), r.person("sid", policy.Owner)
	if err := session.End(ctx, r.pool, ended.ID); err != nil {
		t.Fatal(err)
	}
	r.tx(func(tx pgx.Tx) error {
		_, err := identity.Leave(ctx, tx, agentName, gone.RequesterID, false, "test")
		return err
	})
	// Another program's calls share this one; nobody talks in it.
	shared := r.ensure(session.Session{ID: "api:" + agentName + ":" + silent.RequesterID, Kind: session.API, RequesterID: silent.RequesterID})
	moved := r.talks("moe", policy.User)
	r.exec(`UPDATE user_identities SET user_id = $1 WHERE channel_user_id = 'moe'`, una.RequesterID)
	key := r.ensure(session.Session{ID: "key:abcdefgh", Kind: session.Key, RequesterID: una.RequesterID, KeyPrefix: "abcdefgh"})
	conn := r.ensure(session.Session{ID: "mcp:abc", Kind: session.MCP, RequesterID: una.RequesterID})
	r.says(key, "hello")
	r.says(conn, "hello")
	own := r.ensure(session.Session{ID: "api:own", Kind: session.API, RequesterID: "agent:" + agentName})
	unasKey := r.keyOf(una)

	connections := map[string]string{r.key: r.client(nil).ID(), unasKey: r.as(unasKey).ID()}
	answers := map[string]string{}
	for name, c := range map[string]struct {
		key     string
		session []string
	}{
		"unknown":                 {r.key, []string{"chat:nobody"}},
		"of another agent":        {r.key, []string{foreign.ID}},
		"ended":                   {r.key, []string{ended.ID}},
		"of who has left":         {r.key, []string{gone.ID}},
		"in which nobody wrote":   {r.key, []string{silent.ID}},
		"of an owner's programs":  {r.key, []string{shared.ID}},
		"of an account that went": {r.key, []string{moved.ID}},
		"of a key":                {r.key, []string{key.ID}},
		"of a connection":         {r.key, []string{conn.ID}},
		"of the agent itself":     {r.key, []string{own.ID}},
		"no id":                   {r.key, []string{""}},
		"two":                     {r.key, []string{gus.ID, gus.ID}},
		"two in one":              {r.key, []string{gus.ID + ", " + una.ID}},
		"odd characters":          {r.key, []string{"chat:\u00e9\u202e"}},
		"a user":                  {r.key, []string{gus.RequesterID}},
		"very long":               {r.key, []string{"chat:" + strings.Repeat("x", 100_000)}},
		"another's, bound key":    {unasKey, []string{gus.ID}},
		"unknown, bound key":      {unasKey, []string{"chat:nobody"}},
	} {
		for _, method := range []string{"tools/call", "tools/list"} {
			for _, connection := range []string{"", connections[c.key]} {
				text := r.naming(c.key, connection, method, c.session)
				if !strings.Contains(text, "Holm-Session: ") || strings.Contains(text, `"result"`) {
					t.Errorf("%s, %s on connection %q: %s", name, method, connection, text)
				}
				answers[text] = name
			}
		}
	}
	if len(answers) != 1 {
		t.Errorf("%d different answers: %v", len(answers), answers)
	}
	if ran := r.ran(); ran != nil {
		t.Errorf("ran %v", ran)
	}
	if text := r.naming(unasKey, "", "tools/call", []string{una.ID}); !strings.Contains(text, "recorded") {
		t.Errorf("one's own, bound key: %s", text)
	}
}

// keyOf makes a key that is bound to the person of a session.
func (r *rig) keyOf(s session.Session) (key string) {
	r.t.Helper()
	r.tx(func(tx pgx.Tx) (err error) {
		key, err = identity.CreateKey(context.Background(), tx, agentName, s.RequesterID, nil, "test")
		return err
	})
	return key
}

// naming sends one message in these sessions, on a connection or without one,
// and gives its answer.
func (r *rig) naming(key, connection, method string, sessions []string) string {
	r.t.Helper()
	version := "2026-07-28"
	if connection != "" {
		version = "2025-11-25"
	}
	params := map[string]any{}
	if connection == "" {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    version,
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	header := http.Header{
		"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {version}, "Mcp-Method": {method}, "Holm-Hold": {"0s"}, "Holm-Session": sessions,
	}
	if connection != "" {
		header.Set("Mcp-Session-Id", connection)
	}
	if method == "tools/call" {
		params["name"], params["arguments"] = "mcp__fix__record", map[string]any{"n": 1}
		header.Set("Mcp-Name", "mcp__fix__record")
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, data, ok := strings.Cut(string(text), "data: "); ok {
		text = []byte(data)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(text)))
}

// approve has the operator say yes to what waits.
func (r *rig) approve(resolution policy.Resolution) approvals.Request {
	r.t.Helper()
	request := r.asked(approvals.Pending)
	r.decide(request, true, resolution, "")
	return request
}

// An approval of a call that a program makes for a person is asked for in that
// person's name and session, is theirs to see and not theirs to give, and lets
// nothing through in another session or for the key alone.
func TestAnApprovalOnBehalfIsThePersons(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	gus := r.talks("gus", policy.Guest)
	elsewhere := r.ensure(session.Session{ID: "chat:gus-in-a-group", Kind: session.Chat, RequesterID: gus.RequesterID})
	r.says(elsewhere, "you there?")
	args := map[string]any{"n": 1}
	alone, agent, other := r.client(map[string]string{"Holm-Hold": "0s"}), r.client(in(gus)), r.client(in(elsewhere))

	if got := call(t.Context(), agent, "record", args); got.Kind != "APPROVAL_REQUIRED" {
		t.Fatalf("asked: %+v", got)
	}
	request := r.asked(approvals.Pending)
	prefix := strings.Split(r.key, "_")[2]
	if request.RequesterID != gus.RequesterID || request.RequesterName != "gus (guest)" || request.SessionID != gus.ID || request.ByKey != prefix {
		t.Errorf("asked by %s %q in %s with %q", request.RequesterID, request.RequesterName, request.SessionID, request.ByKey)
	}
	_, err := r.approvals.Decide(t.Context(), approvals.Decision{AgentID: agentName, RequestID: request.ID, Approve: true,
		Actor: approvals.Actor{UserID: gus.RequesterID, Name: "gus", Via: "test"}})
	if f, ok := fault.As(err); !ok || f.Kind != fault.Forbidden {
		t.Errorf("gus approves his own: %v", err)
	}
	if text, failed := plain(t, agent, "approval_status", map[string]any{"request": 1}); failed {
		t.Errorf("gus's request to gus: %s", text)
	}
	if text, failed := plain(t, alone, "approval_status", map[string]any{"request": 1}); !failed {
		t.Errorf("gus's request to the key alone: %s", text)
	}
	r.decide(request, true, policy.Single, "")
	for name, s := range map[string]*mcp.ClientSession{"the key alone": alone, "another session": other} {
		if got := call(t.Context(), s, "record", args); got.Kind != "APPROVAL_REQUIRED" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if ran := r.ran(); ran != nil {
		t.Fatalf("ran %v", ran)
	}
	for range 2 {
		if got := call(t.Context(), agent, "record", args); got.Text != "recorded" {
			t.Errorf("approved: %+v", got)
		}
	}
	if diff := cmp.Diff([]string{`{"n":1}`}, r.ran()); diff != "" {
		t.Errorf("ran: %s", diff)
	}
	var kinds []string
	rows, err := r.pool.Query(t.Context(), `
		SELECT DISTINCT kind
		FROM audit_queue
		WHERE actor = $1
		  AND data ->> 'sessionId' = $2
		  AND data ->> 'byKey' = $3
		ORDER BY kind`, audit.Actor(gus.RequesterID), gus.ID, prefix)
	if err == nil {
		kinds, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if diff := cmp.Diff([]string{"approval_requested", "call_claimed", "call_completed", "call_decided", "call_finished"}, kinds); diff != "" || err != nil {
		t.Errorf("on record with key and session: %s %v", diff, err)
	}
}

// A person's approvals for some time hold for their programs; what a program was
// given in one conversation holds there alone.
func TestWindowsHoldForThePersonsPrograms(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	gus := r.talks("gus", policy.Guest)
	group := r.ensure(session.Session{ID: "chat:gus-in-a-group", Kind: session.Chat, RequesterID: gus.RequesterID})
	r.says(group, "you there?")
	own := r.client(map[string]string{"Authorization": "Bearer " + r.keyOf(gus), "Holm-Hold": "0s"})
	agent, other := r.client(in(gus)), r.client(in(group))
	for n, c := range []struct {
		asks, may, mayNot []*mcp.ClientSession
	}{
		{[]*mcp.ClientSession{own}, []*mcp.ClientSession{own, agent, other}, nil},
		{[]*mcp.ClientSession{agent}, []*mcp.ClientSession{agent}, []*mcp.ClientSession{own, other}},
	} {
		args := map[string]any{"n": n}
		for _, s := range c.asks {
			call(t.Context(), s, "record", args)
			r.approve(policy.Once)
			call(t.Context(), s, "record", args)
		}
		for i, s := range c.may {
			if got := call(t.Context(), s, "record", args); got.Text != "recorded" {
				t.Errorf("call %d, %d of those who may: %+v", n, i, got)
			}
		}
		for i, s := range c.mayNot {
			if got := call(t.Context(), s, "record", args); got.Kind != "APPROVAL_REQUIRED" {
				t.Errorf("call %d, %d of those who may not: %+v", n, i, got)
			}
		}
	}
}

// What waits for a person is counted for that person, whoever asks.
func TestCapsCountForThePerson(t *testing.T) {
	r := newRigFor(t, dbtest.DB(t), 2)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	gus, una := r.talks("gus", policy.Guest), r.talks("una", policy.User)
	own := r.client(map[string]string{"Authorization": "Bearer " + r.keyOf(gus), "Holm-Hold": "0s"})
	agent := r.client(in(gus))
	for n, s := range []*mcp.ClientSession{own, agent} {
		if got := call(t.Context(), s, "record", map[string]any{"n": n}); got.Kind != "APPROVAL_REQUIRED" {
			t.Errorf("question %d: %+v", n, got)
		}
	}
	if got := call(t.Context(), agent, "record", map[string]any{"n": 3}); got.Kind != "APPROVAL_CAPPED" {
		t.Errorf("a third of gus: %+v", got)
	}
	if got := call(t.Context(), r.client(in(una)), "record", map[string]any{"n": 3}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("one of una: %+v", got)
	}
	if got := call(t.Context(), r.client(map[string]string{"Holm-Hold": "0s"}), "record", map[string]any{"n": 3}); got.Kind != "APPROVAL_REQUIRED" {
		t.Errorf("one of the agent: %+v", got)
	}
}

// A program that works for an owner has no say in what needs an owner: no
// dialog, no review, no change of the rules that nobody has seen.
func TestAProgramIsNoOwner(t *testing.T) {
	r := newRig(t)
	r.rule("record", policy.RequireApproval, policy.Scope{})
	olga, gus := r.talks("olga", policy.Owner), r.talks("gus", policy.Guest)
	call(t.Context(), r.client(in(gus)), "record", map[string]any{"n": 1})
	guests := r.asked(approvals.Pending)
	d := newDialogs()
	agent := r.clientWith(in(olga), d.options())
	if got := call(t.Context(), agent, "record", map[string]any{"n": 2}); got.Kind != "APPROVAL_REQUIRED" || len(d.asked) != 0 {
		t.Errorf("%+v with %d dialogs", got, len(d.asked))
	}
	text, failed := plain(t, agent, "approval_review", map[string]any{"request": guests.ShortID, "decision": "approved"})
	if !failed || !strings.Contains(text, "on behalf") {
		t.Errorf("review: %s", text)
	}
	for tool, args := range map[string]map[string]any{
		"policy_delete":        {"resourceKey": "mcp__fix__record", "force": true},
		"policy_set":           {"resourceType": "tool", "resourceKey": "mcp__fix__record", "effect": "allow", "grants": []any{map[string]any{"type": "any"}}},
		"user_role_set":        {"userId": gus.RequesterID, "role": "owner"},
		"user_merge":           {"userId": gus.RequesterID, "intoUserId": olga.RequesterID},
		"user_identity_link":   {"userId": olga.RequesterID, "channel": "x", "identity": "eve"},
		"user_identity_unlink": {"userId": olga.RequesterID, "channel": "chat", "identity": "olga"},
		"circle_add":           {"circle": "a", "userId": gus.RequesterID},
		"circle_remove":        {"circle": "a", "userId": gus.RequesterID},
		"circle_delete":        {"circle": "a"},
	} {
		if text, _ := plain(t, agent, tool, args); !strings.Contains(text, "Approval required") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if text, failed := plain(t, agent, "policy_list", map[string]any{}); failed {
		t.Errorf("reading the rules: %s", text)
	}
	if now, err := approvals.Lookup(t.Context(), r.pool, guests.ID); err != nil || now.Status != approvals.Pending {
		t.Errorf("gus's request is %s, %v", now.Status, err)
	}
	// Once the owner has seen it in their chat, it happens.
	list, err := approvals.List(t.Context(), r.pool, agentName, approvals.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(q approvals.Request) bool { return q.ResourceKey == "policy_delete" })
	if diff := cmp.Diff([]policy.Resolution{policy.Single}, list[i].Settings.Resolutions); diff != "" {
		t.Errorf("offered: %s", diff)
	}
	_, err = r.approvals.Decide(t.Context(), approvals.Decision{AgentID: agentName, RequestID: list[i].ID, Approve: true, Resolution: policy.Single,
		Actor: approvals.Actor{UserID: olga.RequesterID, Name: "olga", Via: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, failed := plain(t, agent, "policy_delete", map[string]any{"resourceKey": "mcp__fix__record", "force": true}); failed {
		t.Errorf("approved: %s", text)
	}
	own := r.as(r.keyOf(olga))
	if text, failed := plain(t, own, "circle_add", map[string]any{"circle": "a", "userId": gus.RequesterID}); failed {
		t.Errorf("with the owner's own key: %s", text)
	}
}

// What a program says in the session it works for are its own words.
func TestAProgramAnswersAsTheAgent(t *testing.T) {
	r := newRig(t)
	una, eve := r.talks("una", policy.User), r.talks("eve", policy.User)
	agent := r.client(in(una))
	if text, failed := plain(t, agent, "session_send", map[string]any{"sessionId": eve.ID, "text": "hi"}); !failed {
		t.Errorf("to another person: %s", text)
	}
	if text, failed := plain(t, agent, "session_list", nil); failed || strings.Contains(text, eve.ID) {
		t.Errorf("of another person: %s", text)
	}
	if text, failed := plain(t, agent, "session_send", map[string]any{"sessionId": una.ID, "text": "done"}); failed {
		t.Errorf("%s", text)
	}
	events, err := session.Events(t.Context(), r.pool, agentName, una.ID, 0, 9)
	if err != nil || len(events) != 2 || events[1].Type != session.AgentMessage || string(events[1].Payload) != `{"text":"done"}` {
		t.Errorf("events %+v, %v", events, err)
	}
}

// TestWhileACallOnBehalfIsHeld: the call runs if its session still stands for
// the same person when the answer comes.
func TestWhileACallOnBehalfIsHeld(t *testing.T) {
	merge := func(r *rig, from, into session.Session) (number int64) {
		r.tx(func(tx pgx.Tx) error {
			m, err := identity.MergeUsers(context.Background(), tx, from.RequesterID, into.RequesterID, "test")
			number = m.Number
			return err
		})
		return number
	}
	for name, c := range map[string]struct {
		// before comes before the call, meanwhile while it is held.
		before, meanwhile func(r *rig, gus, una session.Session)
		runs              bool
	}{
		"nothing happens": {runs: true},
		"merged":          {meanwhile: func(r *rig, gus, una session.Session) { merge(r, gus, una) }, runs: true},
		"a merge is undone": {
			before: func(r *rig, gus, una session.Session) { merge(r, gus, una) },
			meanwhile: func(r *rig, gus, una session.Session) {
				r.tx(func(tx pgx.Tx) error { _, err := identity.UndoMerge(context.Background(), tx, 1, "test"); return err })
			},
		},
		"the account is taken away": {meanwhile: func(r *rig, gus, una session.Session) {
			r.tx(func(tx pgx.Tx) error {
				return identity.RemoveIdentity(context.Background(), tx, gus.RequesterID, identity.Address{Channel: "chat", Identity: "gus"}, false, "test")
			})
		}},
		"the session ends": {meanwhile: func(r *rig, gus, una session.Session) {
			r.tx(func(tx pgx.Tx) error { return session.End(context.Background(), tx, gus.ID) })
		}},
		"the person leaves": {meanwhile: func(r *rig, gus, una session.Session) {
			r.tx(func(tx pgx.Tx) error {
				_, err := identity.Leave(context.Background(), tx, agentName, gus.RequesterID, false, "test")
				return err
			})
		}},
		"the key is revoked": {meanwhile: func(r *rig, gus, una session.Session) {
			r.tx(func(tx pgx.Tx) error {
				return identity.RevokeKey(context.Background(), tx, strings.Split(r.key, "_")[2], "test")
			})
			r.keyring.Forget()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rule("record", policy.RequireApproval, policy.Scope{})
			gus, una := r.talks("gus", policy.User), r.talks("una", policy.User)
			if c.before != nil {
				c.before(r, gus, una)
			}
			done := later(t.Context(), r.client(waiting(gus)), "record", map[string]any{"n": 1})
			r.asked(approvals.Pending)
			if c.meanwhile != nil {
				c.meanwhile(r, gus, una)
			}
			r.approve(policy.Single)
			got := <-done
			if ran := len(r.ran()); c.runs != (got.Text == "recorded") || c.runs != (ran == 1) {
				t.Errorf("%+v, ran %d times", got, ran)
			}
		})
	}
}
