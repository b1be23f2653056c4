package httpapi_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"holm/internal/httpapi"
	"holm/policy"
)

func TestPanicIsAProblem(t *testing.T) {
	w := start(t, func(c *httpapi.Config) {
		c.Tools = func(context.Context) []policy.ToolInfo { panic("a fuse") }
	})
	w.agent("main")
	got := w.admin("GET", "/api/agents/main/policies/lint", "").is(500, "internal")
	if strings.Contains(got.body, "fuse") {
		t.Errorf("the caller learns %s", got.body)
	}
	if log := w.log.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "a fuse") || !strings.Contains(log, "panic_test.go") {
		t.Errorf("logged %s", log)
	}
	w.admin("GET", "/api/agents/main", "").is(200)
}

// TestNullArguments: beside a file or a command, null says that there are none.
func TestNullArguments(t *testing.T) {
	w := start(t)
	w.agent("main")
	for _, args := range []string{``, `,"args":null`, `,"args":{}`} {
		w.admin("POST", "/api/agents/main/access/check", `{"resource":{"type":"exec","key":"ls"}`+args+`}`).is(200)
		w.admin("POST", "/api/agents/main/access/check", `{"resource":{"type":"file","key":"/srv/a","scope":{"mode":"read"}}`+args+`}`).is(200)
	}
}

// TestNullAnywhere: no member of any body brings the interface down as null.
func TestNullAnywhere(t *testing.T) {
	w := start(t)
	w.agent("main")
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	text, err := httpapi.Document()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	bodies := 0
	for path, methods := range document.Paths {
		path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.Replace(path, "{agentId}", "main", 1), "x")
		for method, operation := range methods {
			ref := operation.RequestBody.Content["application/json"].Schema.Ref
			all := map[string]any{}
			for name := range document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")].Properties {
				all[name] = nil
				bodies++
				w.neverFails(method, path, map[string]any{name: nil})
			}
			if ref != "" {
				w.neverFails(method, path, all)
				w.neverFails(method, path, nil)
			}
		}
	}
	if bodies < 50 {
		t.Errorf("only %d members were tried", bodies)
	}
}

func (w *world) neverFails(method, path string, body any) {
	w.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := w.admin(strings.ToUpper(method), path, string(text)); got.status == 500 {
		w.t.Errorf("%s: %s %s", got.request, got.body, w.log.String())
	}
}
