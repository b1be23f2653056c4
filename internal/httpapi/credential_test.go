package httpapi_test

import (
	"strings"
	"testing"
	"time"
)

func TestNoCredentialNoAnswer(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	for name, token := range map[string]string{
		"none": "", "wrong": "wrong-token-of-nobody", "cut": adminToken[:len(adminToken)-1], "longer": adminToken + "x",
		"cut key": key[:len(key)-1], "unknown channel": "holm_ch_unknown", "unknown key": "holm_sk_aaaaaaaa_bbbb",
	} {
		got := w.as(token, "GET", "/api/agents", "").is(401)
		if got.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
		if token != "" && strings.Contains(got.body, token) {
			t.Errorf("%s: the answer repeats the token", name)
		}
	}
	w.as("", "GET", "/api/agents", "", "Authorization", "Basic "+adminToken).is(401, "no_credential")
	w.as("", "GET", "/api/nothing", "").is(401, "no_credential")
}

func TestOpenPaths(t *testing.T) {
	w := start(t)
	for _, path := range []string{"/healthz", "/readyz", "/api/openapi.json"} {
		w.as("", "GET", path, "").is(200)
	}
}

func TestAKeyManagesNothing(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	for _, c := range [][3]string{
		{"GET", "/api/agents", ""},
		{"POST", "/api/agents", `{"name":"other"}`},
		{"GET", "/api/agents/main", ""},
		{"DELETE", "/api/agents/main", ""},
		{"POST", "/api/agents/main/rotate", ""},
		{"GET", "/api/agents/main/keys", ""},
		{"POST", "/api/agents/main/keys", `{}`},
		{"DELETE", "/api/keys/abc", ""},
		{"GET", "/api/agents/main/members", ""},
		{"POST", "/api/agents/main/invites", `{"role":"owner"}`},
		{"POST", "/api/agents/main/links/answer", `{"button":"l.x"}`},
		{"POST", "/api/agents/main/lists/answer", `{"button":"x"}`},
		{"GET", "/api/users/u", ""},
		{"POST", "/api/users/u/merge", `{"into":"v"}`},
		{"DELETE", "/api/merges/1", ""},
		{"PUT", "/api/users/u/identities/x%3A1", ""},
		{"DELETE", "/api/users/u/identities/x%3A1", ""},
		{"GET", "/api/agents/main/policies", ""},
		{"POST", "/api/agents/main/policies", `{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"any"}]}`},
		{"DELETE", "/api/agents/main/policies/tool/x", ""},
		{"GET", "/api/agents/main/webhooks", ""},
		{"POST", "/api/agents/main/webhooks", `{"url":"https://example.com/"}`},
		{"POST", "/api/agents/main/webhooks/x/test", ""},
		{"DELETE", "/api/agents/main/webhooks/x", ""},
		{"GET", "/api/servers", ""},
		{"POST", "/api/servers", `{"name":"git","command":["git"]}`},
		{"GET", "/api/servers/git", ""},
		{"DELETE", "/api/servers/git", ""},
		{"GET", "/api/channels", ""},
		{"GET", "/api/agents/main/circles", ""},
		{"PATCH", "/api/agents/main", `{"defaultDecision":"allow"}`},
		{"POST", "/api/agents/main/keys/import", `{"prefix":"steer_sk_a1B2c3","hash":"x"}`},
		{"PATCH", "/api/agents/main/members/u", `{"role":"user"}`},
		{"DELETE", "/api/agents/main/members/u", ""},
		{"POST", "/api/agents/main/access/check", `{"resource":{"type":"tool","key":"x"}}`},
		{"GET", "/api/agents/main/policies/lint", ""},
		{"PATCH", "/api/servers/x", `{"maps":[]}`},
		{"PUT", "/api/agents/main/circles/ops/members/u", ""},
		{"DELETE", "/api/agents/main/circles/ops/members/u", ""},
		{"DELETE", "/api/agents/main/circles/ops", ""},
		{"POST", "/api/channels", `{"namespace":"matrix","agentId":"main","url":"https://adapter.example.com"}`},
		{"GET", "/api/channels/matrix", ""},
		{"POST", "/api/channels/test", `{}`},
		{"POST", "/api/channels/matrix/rotate", `{}`},
		{"DELETE", "/api/channels/matrix", ""},
		{"GET", "/api/agents/main/grants", ""},
		{"DELETE", "/api/agents/main/grants/x", ""},
		{"DELETE", "/api/agents/main/grants/by-short/1", ""},
		{"GET", "/api/audit", ""},
		{"GET", "/api/audit/verify", ""},
		{"GET", "/api/log", ""},
	} {
		w.as(key, c[0], c[1], c[2]).is(403)
	}
}

func TestAForeignAgentLooksUnknown(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	w.agent("other")
	r := w.ask("other", "agent:other", `{"a":1}`)
	for _, path := range []string{
		"/api/agents/%s", "/api/agents/%s/approvals", "/api/agents/%s/approvals/" + r.ID, "/api/agents/%s/sessions",
		"/api/agents/%s/sessions/" + r.SessionID, "/api/agents/%s/sessions/" + r.SessionID + "/events", "/api/agents/%s/events",
		"/api/agents/%s/policies", "/api/agents/%s/keys", "/api/agents/%s/members",
	} {
		foreign := w.as(key, "GET", strings.Replace(path, "%s", "other", 1), "").is(404, "not_found")
		unknown := w.as(key, "GET", strings.Replace(path, "%s", "nobody", 1), "").is(404, "not_found")
		if strings.ReplaceAll(foreign.body, "other", "nobody") != unknown.body {
			t.Errorf("%s: %s and %s differ", path, foreign.body, unknown.body)
		}
	}
	w.as(key, "POST", "/api/agents/other/approvals/"+r.ID+"/review", `{"decision":"approved"}`).is(404, "not_found")
	// The request of another agent is unknown under one's own name, too.
	w.as(key, "GET", "/api/agents/main/approvals/"+r.ID, "").is(404, "not_found")
	w.admin("GET", "/api/agents/main/approvals/"+r.ID, "").is(404, "not_found")
	w.admin("GET", "/api/agents/main/sessions/"+r.SessionID, "").is(404, "not_found")
	w.admin("POST", "/api/agents/main/approvals/"+r.ID+"/review", `{"decision":"approved"}`).is(404, "not_found")
	w.admin("GET", "/api/agents/nobody/approvals", "").is(404, "not_found")
}

func TestARevokedKeyEnds(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	w.as(key, "GET", "/api/agents/main/sessions", "").is(200)
	prefix := strings.Split(key, "_")[2]
	w.admin("DELETE", "/api/keys/"+prefix, "").is(204)
	w.ends(key)
	w.admin("DELETE", "/api/keys/"+prefix, "").is(404, "not_found")
	second := w.admin("POST", "/api/agents/main/rotate", "").is(200).field("key")
	w.as(second, "GET", "/api/agents/main/sessions", "").is(200)
	third := w.admin("POST", "/api/agents/main/rotate", "").is(200).field("key")
	w.ends(second)
	w.as(third, "GET", "/api/agents/main/sessions", "").is(200)
}

// ends waits until a key is none any more.
func (w *world) ends(key string) {
	w.t.Helper()
	w.refused(key, 401)
}

// refused waits until a key is refused: the keyring hears of the change by a
// notice, after the answer.
func (w *world) refused(key string, status int) {
	w.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for w.as(key, "GET", "/api/agents/main/sessions", "").status != status {
		if time.Now().After(deadline) {
			w.t.Fatal("the key still works")
		}
	}
}

func TestAnotherOriginIsRefused(t *testing.T) {
	w := start(t)
	w.admin("POST", "/api/agents", `{"name":"main"}`, "Sec-Fetch-Site", "cross-site").is(403, "forbidden")
	w.admin("POST", "/api/agents", `{"name":"main"}`, "Origin", "https://evil.example").is(403, "forbidden")
	w.admin("GET", "/api/agents/main", "").is(404)
}
