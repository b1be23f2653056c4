package httpapi_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holm/policy"
	"holm/policy/rulestore"
)

func (w *world) setPolicy(body string) rulestore.Row {
	w.t.Helper()
	var row rulestore.Row
	w.admin("POST", "/api/agents/main/policies", body).is(201).into(&row)
	return row
}

func (w *world) policies(query string) []rulestore.Row {
	w.t.Helper()
	var rows []rulestore.Row
	w.admin("GET", "/api/agents/main/policies"+query, "").is(200).into(&rows)
	return rows
}

func TestAPolicyHoldsAtOnce(t *testing.T) {
	w := start(t)
	w.agent("main")
	decide := func() policy.Effect {
		set, err := w.rules.Get(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		return set.Evaluate(policy.Request{Principal: policy.Principal{AgentID: "main"}, Tool: "mcp__git__log", Server: "git"}).Decision
	}
	before := decide()
	row := w.setPolicy(`{"resourceType":"tool","resourceKey":"mcp__git__*","effect":"allow","grants":[{"type":"any"}]}`)
	if row.ID == "" || row.Version != 1 || row.CreatedBy != "admin" || row.Origin != policy.OriginAdmin {
		t.Errorf("got %+v", row)
	}
	stored := decide()
	w.admin("DELETE", "/api/agents/main/policies/tool/"+url.PathEscape("mcp__git__*"), "").is(204)
	if after := decide(); before != policy.Deny || stored != policy.Allow || after != policy.Deny {
		t.Errorf("decisions %s, %s, %s", before, stored, after)
	}
}

func TestTheSameRowIsReplaced(t *testing.T) {
	w := start(t)
	w.agent("main")
	first := w.setPolicy(`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"any"}]}`)
	second := w.setPolicy(`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"role","value":"owner"}]}`)
	scoped := w.setPolicy(`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"scope":{"args":[{"arg":"p","match":"glob","pattern":"/srv/**"}]}}`)
	if second.ID != first.ID || second.Version != 2 || scoped.ID == first.ID || len(w.policies("")) != 2 {
		t.Errorf("got %+v, %+v, %+v", first, second, scoped)
	}
}

func TestKeysWithSpecialCharacters(t *testing.T) {
	w := start(t)
	w.agent("main")
	for _, key := range []string{
		"/srv/data", "/", "a/b/c", "100%", "%2F", "a%2Fb", "git log *", "mcp__git__*", "a?b#c", "..", ".", "a//b", "a/../b", "ü–名",
		"a+b", "a;b", "C:\\x", "a&b=c", "/srv/",
	} {
		body, err := json.Marshal(map[string]any{"resourceType": "tool", "resourceKey": key, "effect": "deny", "grants": []any{map[string]string{"type": "any"}}})
		if err != nil {
			t.Fatal(err)
		}
		if row := w.setPolicy(string(body)); row.ResourceKey != key {
			t.Errorf("%q was stored as %q", key, row.ResourceKey)
		}
		w.admin("DELETE", "/api/agents/main/policies/tool/"+segment(key), "").is(204)
		if left := w.policies(""); len(left) != 0 {
			t.Fatalf("%q: left %+v", key, left)
		}
	}
}

// segment is text as one segment of a path. Dots alone would be taken for
// steps in the path.
func segment(text string) string {
	if text == "." || text == ".." {
		return map[string]string{".": "%2E", "..": "%2E%2E"}[text]
	}
	return url.PathEscape(text)
}

func TestDeleteByEffect(t *testing.T) {
	w := start(t)
	w.agent("main")
	for _, effect := range []string{"allow", "deny", "require_approval"} {
		w.setPolicy(`{"resourceType":"tool","resourceKey":"a/b","effect":"` + effect + `","grants":[{"type":"any"}]}`)
	}
	w.admin("DELETE", "/api/agents/main/policies/tool/a%2Fb?effect=deny", "").is(204)
	w.admin("DELETE", "/api/agents/main/policies/tool/a%2Fb?effect=deny", "").is(404, "not_found")
	w.admin("DELETE", "/api/agents/main/policies/tool/a%2Fb?effect=maybe", "").is(422)
	w.admin("DELETE", "/api/agents/main/policies/tool/a%2Fb?efect=allow", "").is(422)
	w.admin("DELETE", "/api/agents/main/policies/page/a%2Fb", "").is(422)
	if left := w.policies(""); len(left) != 2 {
		t.Errorf("left %+v", left)
	}
	w.admin("DELETE", "/api/agents/main/policies/tool/a%2Fb", "").is(204)
	if left := w.policies(""); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	w.admin("DELETE", "/api/agents/main/policies/tool/a%2Fb", "").is(404, "not_found")
}

func TestListByType(t *testing.T) {
	w := start(t)
	w.agent("main")
	if rows := w.admin("GET", "/api/agents/main/policies", "").is(200).body; rows != "[]\n" {
		t.Errorf("an empty list is %q", rows)
	}
	w.setPolicy(`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"any"}]}`)
	w.setPolicy(`{"resourceType":"mcp","resourceKey":"git","effect":"require_approval","grants":[{"type":"any"}],"scope":{"approval":{"ttlMinutes":5}}}`)
	keys := func(query string) (keys []string) {
		for _, row := range w.policies(query) {
			keys = append(keys, row.ResourceKey)
		}
		return keys
	}
	if all, mcp := keys(""), keys("?resourceType=mcp"); !slices.Equal(all, []string{"git", "x"}) || !slices.Equal(mcp, []string{"git"}) {
		t.Errorf("got %v and %v", all, mcp)
	}
	w.admin("GET", "/api/agents/main/policies?resourceType=page", "").is(422)
}

func TestRowsThatCannotBeUsed(t *testing.T) {
	w := start(t)
	w.agent("main")
	for _, body := range []string{
		`{}`,
		`{"resourceType":"page","resourceKey":"x","effect":"allow","grants":[]}`,
		`{"resourceType":"tool","resourceKey":"","effect":"allow","grants":[]}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"maybe","grants":[]}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow"}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":{}}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"all"}]}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"role","value":"boss"}]}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"any","level":1}]}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"scope":{"args":[{"arg":"p","match":"regex","pattern":"("}]}}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"scope":{"approval":{"ttlMinutes":5}}}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"scope":{"unknown":1}}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"scope":{"argsDigest":"abc"}}`,
		`{"resourceType":"tool","resourceKey":"x\u0000y","effect":"allow","grants":[]}`,
		`{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"origin":"approval"}`,
	} {
		w.admin("POST", "/api/agents/main/policies", body).is(422)
	}
	if rows := w.policies(""); len(rows) != 0 {
		t.Errorf("stored %+v", rows)
	}
	w.admin("POST", "/api/agents/nobody/policies", `{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[]}`).is(404)
	var problem struct {
		Field    string
		Position int
	}
	w.admin("POST", "/api/agents/main/policies", `{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[],"scope":{"args":[{"arg":"p","match":"glob","pattern":"a["}]}}`).
		is(422, "invalid_policy").into(&problem)
	if problem.Field != "scope.args[0].pattern" || problem.Position == 0 {
		t.Errorf("got %+v, want field and position", problem)
	}
}

func TestBodiesThatTwoReadersWouldReadDifferently(t *testing.T) {
	w := start(t)
	w.agent("main")
	const row = `{"resourceType":"tool","resourceKey":"x","effect":"allow","grants":[{"type":"any"}],"scope":`
	for _, scope := range []string{
		`{"args":[],"args":[]}}`,
		`{"args":[{"arg":"a","match":"glob","pattern":"x","pattern":"*"}]}}`,
		`{},"effect":"deny"}`,
		`{},"gr\u0061nts":[]}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}",
	} {
		w.admin("POST", "/api/agents/main/policies", row+scope).is(400, "bad_json")
	}
	// The same word as a value, or in another object, is no key twice.
	w.admin("POST", "/api/agents/main/policies", row+`{"args":[{"arg":"arg","match":"glob","pattern":"arg"},{"arg":"b","match":"glob","pattern":"x"}]}}`).is(201)
}
