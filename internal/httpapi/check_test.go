package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"holm/internal/httpapi"
	"holm/internal/identity"
	"holm/policy"
)

// knows gives the API tools.
func knows(names ...string) func(*httpapi.Config) {
	return func(c *httpapi.Config) {
		c.Tools = func(context.Context) (all []policy.ToolInfo) {
			for _, name := range names {
				all = append(all, policy.ToolInfo{Tool: policy.Tool{Name: name}})
			}
			return all
		}
	}
}

func TestCheckAccess(t *testing.T) {
	w := start(t)
	key := w.agent("main")
	w.admin("POST", "/api/servers", `{"name":"fs","command":["x"],"maps":[{"tool":"read","type":"file","mode":"read","arg":"path"}]}`).is(201)
	user := w.person(identity.Address{Channel: "matrix", Identity: "@u"}, "main", policy.Guest)
	w.setPolicy(`{"resourceType":"mcp","resourceKey":"fs","effect":"allow","grants":[{"type":"role","value":"guest"}]}`)
	w.setPolicy(`{"resourceType":"file","resourceKey":"/srv","effect":"allow","grants":[{"type":"any"}]}`)
	check := func(body, want string) {
		t.Helper()
		got := w.admin("POST", "/api/agents/main/access/check", body).is(200)
		if !strings.Contains(got.body, want) {
			t.Errorf("%s\n answered %s\n want %s", body, got.body, want)
		}
	}
	tool := `"resource":{"type":"tool","key":"mcp__fs__read"}`
	check(`{`+tool+`}`, `"decision":"deny"`)
	check(`{`+tool+`,"principal":{"role":"guest"}}`, `"step":"no_grant","layer":"file"`)
	check(`{`+tool+`,"principal":{"role":"guest"}}`, `"problem":"argument \"path\" is absent`)
	check(`{`+tool+`,"principal":{"role":"guest"},"args":{"path":null}}`, `"step":"invalid","layer":"file"`)
	check(`{`+tool+`,"principal":{"userId":"`+user.ID+`"},"args":{"path":"/srv/a"}}`, `"decision":"allow"`)
	check(`{`+tool+`,"principal":{"role":"guest"},"args":{"path":"/etc/passwd"}}`, `"layer":"file"`)
	check(`{"resource":{"type":"file","key":"/srv/a","scope":{"mode":"read"}},"principal":{"role":"owner"}}`, `"layers":{"tool":"allow","file":"allow"}`)
	check(`{"resource":{"type":"exec","key":"ls"},"principal":{"role":"guest"}}`, `"decision":"deny"`)

	path := "/api/agents/main/access/check"
	w.admin("POST", path, `{"resource":{"type":"tool","key":"x"},"args":{"a":1,"a":2}}`).is(400)
	w.admin("POST", path, `{"resource":{"type":"file","key":"relative","scope":{"mode":"read"}}}`).is(422, "invalid_policy")
	w.admin("POST", path, `{"resource":{"type":"thing","key":"x"}}`).is(422)
	w.admin("POST", path, `{"resource":{"type":"tool","key":"x"},"principal":{"userId":"nobody"}}`).is(404, "not_found")
	w.admin("POST", "/api/agents/nobody/access/check", `{`+tool+`}`).is(404, "not_found")
	w.as(key, "POST", path, `{`+tool+`}`).is(403)
	w.admin("GET", "/api/agents/main/policies/lint", "").is(200)
}

// TestOwnToolsReachWhatTheyName: a question about the tool is judged like one
// about the file or command that its arguments name.
func TestOwnToolsReachWhatTheyName(t *testing.T) {
	w := start(t)
	w.agent("main")
	w.setPolicy(`{"resourceType":"file","resourceKey":"/srv","effect":"allow","grants":[{"type":"any"}],"scope":{"mode":"read"}}`)
	w.setPolicy(`{"resourceType":"exec","resourceKey":"ls","effect":"allow","grants":[{"type":"any"}],"scope":{"sandbox":"box"}}`)
	w.setPolicy(`{"resourceType":"file","resourceKey":"/etc","effect":"deny","grants":[{"type":"role","value":"guest"}]}`)
	for _, c := range []struct{ tool, args, want string }{
		{"file_read", `{"path":"/srv/a"}`, `"decision":"allow"`},
		{"file_read", `{"path":"/x"}`, `"step":"no_grant","layer":"file"`},
		{"file_read", `{}`, `"step":"no_grant","layer":"file"`},
		{"file_list", `{"path":null}`, `"step":"invalid","layer":"file"`},
		{"file_write", `{"path":"/x"}`, `"decision":"allow"`},
		{"file_write", `{}`, `"decision":"allow"`},
		{"file_write", `{"path":7}`, `"step":"invalid","layer":"file"`},
		{"exec", `{"command":"id"}`, `"decision":"allow"`},
		{"exec", `{"command":"id","sandbox":"box"}`, `"step":"no_grant","layer":"exec"`},
		{"exec", `{"sandbox":"box"}`, `"step":"no_grant","layer":"exec"`},
		{"exec", `{"command":"ls","sandbox":"box"}`, `"decision":"allow"`},
		{"exec", `{"command":"ls","sandbox":null}`, `"step":"invalid","layer":"exec"`},
	} {
		body := `{"resource":{"type":"tool","key":"` + c.tool + `"},"args":` + c.args + `,"principal":{"role":"owner"}}`
		if got := w.admin("POST", "/api/agents/main/access/check", body).is(200); !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s answered %s, want %s", c.tool, c.args, got.body, c.want)
		}
	}
	w.admin("POST", "/api/agents/main/access/check",
		`{"resource":{"type":"file","key":"/srv/a","scope":{"mode":"read"}},"tool":"exec","args":{"command":"ls"},"principal":{"role":"owner"}}`).is(200)
}

func TestLockOutIsRefused(t *testing.T) {
	w := start(t, knows("policy_set", "exec"))
	w.agent("main")
	owner := w.person(identity.Address{Channel: "matrix", Identity: "@o"}, "main", policy.Owner)
	w.person(identity.Address{Channel: "matrix", Identity: "@g"}, "main", policy.Guest)
	path := "/api/agents/main/policies"
	row := `{"resourceType":"tool","resourceKey":"policy_set","effect":"allow","grants":[{"type":"role","value":"guest"}]`
	refused := w.admin("POST", path, row+`}`).is(409, "would_lock_out")
	if !strings.Contains(refused.body, owner.ID) {
		t.Errorf("the refusal %s does not name who loses", refused.body)
	}
	if rows := w.policies(""); len(rows) != 0 {
		t.Errorf("stored all the same: %+v", rows)
	}
	w.admin("POST", path, row+`,"force":true}`).is(201)

	ask := `{"resourceType":"tool","resourceKey":"exec","effect":"require_approval","grants":[{"type":"role","value":"guest"}]`
	w.admin("POST", path, ask+`}`).is(409, "would_lock_out")
	w.admin("POST", path, ask+`,"keepDefaults":true}`).is(201)
	if rows := w.policies(""); len(rows) != 3 {
		t.Errorf("rows %+v, want the asking one beside the kept default", rows)
	}
}

// TestFurtherPathsAndSearchesAreJudged: each path of a file has to be let through,
// and each area below a folder that is searched.
func TestFurtherPathsAndSearchesAreJudged(t *testing.T) {
	w := start(t)
	w.agent("main")
	w.setPolicy(`{"resourceType":"tool","resourceKey":"file_read","effect":"allow","grants":[{"type":"any"}]}`)
	w.setPolicy(`{"resourceType":"file","resourceKey":"/srv","effect":"allow","grants":[{"type":"any"}]}`)
	w.setPolicy(`{"resourceType":"file","resourceKey":"/srv/secret","effect":"deny","grants":[{"type":"any"}],"force":true}`)
	const path = "/api/agents/main/access/check"
	for resource, want := range map[string]string{
		`"key":"/srv/link","scope":{"mode":"read"}`:                                      "allow",
		`"key":"/srv/link","scope":{"mode":"read"},"also":["/srv/x"]`:                    "allow",
		`"key":"/srv/link","scope":{"mode":"read"},"also":["/srv/x","/srv/./secret/x"]`:  "deny",
		`"key":"/srv/link","scope":{"mode":"read"},"also":["/etc/passwd"]`:               "deny",
		`"key":"/srv","scope":{"mode":"read"}`:                                           "allow",
		`"key":"/srv","scope":{"mode":"search"}`:                                         "deny",
		`"key":"/srv/public","scope":{"mode":"search"}`:                                  "allow",
		`"key":"/srv/secret/../public","scope":{"mode":"search"},"also":["/srv/secret"]`: "deny",
	} {
		got := w.admin("POST", path, `{"resource":{"type":"file",`+resource+`}}`).is(200)
		if !strings.Contains(got.body, `"decision":"`+want+`"`) {
			t.Errorf("%s: %s, want %s", resource, got.body, want)
		}
	}
	w.admin("POST", path, `{"resource":{"type":"file","key":"/srv","scope":{"mode":"read"},"also":["relative"]}}`).is(422, "invalid_policy")
	w.admin("POST", path, `{"resource":{"type":"exec","key":"ls","also":["/srv"]}}`).is(422, "invalid")
}
